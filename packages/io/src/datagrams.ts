/** Batches of datagrams that leave together. */
export {
  type BatchOwner,
  MAX_BATCH_BYTES,
  MAX_BATCH_DATAGRAMS,
  TransmitBatch,
} from './net/sockets/transmit-batch.ts';
export { BATCHED_BYTES, TransmitQueue } from './net/sockets/transmit-queue.ts';
