/** Bounds that clients share. */
export { AssociationOrder, type Ordered, Stage } from './net/bounds/association-order.ts';
export { costOfDatagram, KeptDatagrams, UnsentDatagrams } from './net/bounds/datagram-cost.ts';
export { MAX_UNSENT_BYTES } from './net/bounds/limits.ts';
export { Shares } from './net/bounds/shares.ts';
export { sourceGroup } from './net/bounds/source-group.ts';
