/**
 * Writes the integrity tag of a Retry packet (RFC 9001 §5.8) at `end`. Returns the offset behind it.
 *
 * @param originalId the destination connection id of the Initial packet that is answered.
 */
export declare function writeRetryTag(
  bytes: Uint8Array,
  start: number,
  end: number,
  originalId: Uint8Array,
): number;

/** Whether a Retry packet, with its tag, answers an Initial packet to `originalId`. */
export declare function isRetryAuthentic(
  bytes: Uint8Array,
  start: number,
  end: number,
  originalId: Uint8Array,
): boolean;
