/** What remains of a connection in TIME-WAIT. */
export interface TimeWait {
  readonly expiresAt: number;
}
