/** Queues, ranges and numbers of bytes. */
export { ByteQueue } from './collections/byte-queue.ts';
export { copyBytes, copyOf } from './collections/copy-bytes.ts';
export { GrowingBytes } from './collections/growing-bytes.ts';
export {
  readInt32,
  readUint16,
  readUint32,
  writeUint16,
  writeUint32,
} from './collections/network-order.ts';
export { PieceReader } from './collections/piece-reader.ts';
export { RangeSet } from './collections/range-set.ts';
