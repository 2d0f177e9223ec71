/** Bounds that clients share. */
export { AssociationOrder, type Ordered, Shares, sourceGroup, Stage } from './net/bounds/shares.ts';
export {
  accountRoom,
  costOfDatagram,
  KeptDatagrams,
  MAX_UNSENT_BYTES,
  UnsentDatagrams,
} from './net/bounds/queue-bounds.ts';
export type { EqualRoom } from './net/bounds/shared-room.ts';
export { ReadInPieces, SMALL_PIECE, SmallUnits, UnitCost, UnitShare } from './net/bounds/units.ts';
