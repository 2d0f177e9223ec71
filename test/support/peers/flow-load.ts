import type { Socket } from 'node:net';

/** Rows of flows, each opened when the one before it was closed. */
const ROWS = 4;

/** Flows that are opened until `end`, which resolves with their number, and rejects if one has failed. */
export interface FlowLoad {
  readonly end: () => Promise<number>;
}

/** @param open opens a flow and shows that it works */
export function startFlowLoad(open: () => Promise<Socket>): FlowLoad {
  let isEnded = false;
  let count = 0;
  const row = async (): Promise<void> => {
    while (!isEnded) {
      (await open()).destroy();
      count++;
    }
  };
  const running = Promise.all(Array.from({ length: ROWS }, row));
  return {
    async end() {
      isEnded = true;
      await running;
      return count;
    },
  };
}
