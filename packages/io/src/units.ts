/** Bounds of work by units, in turns. */
export { ReadInPieces, SMALL_PIECE, SmallUnits } from './net/bounds/small-units.ts';
export { UnitCost, UnitShare } from './net/bounds/unit-share.ts';
