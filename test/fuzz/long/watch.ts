import { Worker } from 'node:worker_threads';

/** An input that takes longer never ends. */
const MOST_SECONDS = 120;

/** Ends the process with the name of the input that never ends. */
export interface FuzzWatch {
  begin(name: string): void;
  readonly onInput: (index: number) => void;
  end(): void;
}

const WATCH = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  const shared = new Int32Array(workerData.memory);
  let name = '', last = -1;
  parentPort.on('message', (text) => { name = text; last = -1; });
  setInterval(() => {
    const index = Atomics.load(shared, 0);
    if (index === last) {
      writeSync(2, name + ': input ' + index + ' does not end\\n');
      process.kill(process.pid, 'SIGKILL');
    }
    last = index;
  }, workerData.milliseconds);
`;

/** Watches from a thread of its own, since an endless loop lets no timer of this one run. */
export function startWatch(): FuzzWatch {
  const memory = new SharedArrayBuffer(4);
  const shared = new Int32Array(memory);
  const worker = new Worker(WATCH, {
    eval: true,
    workerData: { memory, milliseconds: MOST_SECONDS * 1000 },
  });
  worker.unref();
  return {
    begin: (name) => worker.postMessage(name),
    onInput: (index) => void Atomics.store(shared, 0, index),
    end: () => void worker.terminate(),
  };
}
