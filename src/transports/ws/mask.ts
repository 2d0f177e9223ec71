import { xorInPlace, xorInto } from '../../platform/xor.ts';

/** Below this a call of native code costs more than it saves. */
const WORTH_A_CALL = 128;

/** XORs bytes in place with a masking key of 4 bytes (RFC 6455 §5.3), from its byte `phase` on. */
export function applyMask(data: Uint8Array, key: Uint8Array, phase = 0): void {
  if (data.length >= WORTH_A_CALL) {
    xorInPlace(data, phase === 0 ? key : rotated(key, phase));
    return;
  }
  for (let at = 0; at < data.length; at++) {
    // Both indices are in range: `at` below length, the key has 4 bytes.
    data[at] = (data[at] as number) ^ (key[(at + phase) & 3] as number);
  }
}

/** Writes what `source` becomes under a masking key, from its byte `phase` on, to `out`. */
export function copyMasked(
  source: Uint8Array,
  key: Uint8Array,
  out: Uint8Array,
  phase: number,
): void {
  if (source.length >= WORTH_A_CALL) {
    xorInto(source, phase === 0 ? key : rotated(key, phase), out);
    return;
  }
  out.set(source);
  applyMask(out.subarray(0, source.length), key, phase);
}

const rotated = (key: Uint8Array, phase: number): Uint8Array =>
  Uint8Array.from(key, (_, i) => key[(i + phase) & 3] as number);
