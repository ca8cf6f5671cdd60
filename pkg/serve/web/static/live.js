// The stream of events. It only announces that something changed; views then request it.

const kinds = ['snapshot', 'plan', 'target', 'problem', 'problem-cleared'];
const most = 300;

export const events = []; // the newest last

// follow calls told after each event, and state with true when the stream is open and with false when it is not.
export function follow(told, state) {
  const stream = new EventSource('api/v1/events');
  stream.onopen = () => state(true);
  stream.onerror = () => state(false);
  for (const kind of kinds) {
    stream.addEventListener(kind, (message) => {
      const event = JSON.parse(message.data);
      if (events.length && event.id <= events[events.length - 1].id && event.at <= events[events.length - 1].at) return;
      events.push(event);
      if (events.length > most) events.shift();
      told(event);
    });
  }
}

// paced calls work soon after it is asked to, not more often than twice a second, and seldom when work takes long: five
// times as long as it took passes in between.
export function paced(work) {
  let running = false, again = false, earliest = 0;
  const run = async () => {
    running = true;
    again = false;
    await new Promise((done) => setTimeout(done, Math.max(150, earliest - performance.now())));
    const began = performance.now();
    await work();
    const ended = performance.now();
    earliest = ended + Math.max(500, 5 * (ended - began));
    running = false;
    if (again) run();
  };
  return () => { if (running) again = true; else run(); };
}
