import { isPlain, type Way } from '../ways/way.ts';

/** How much a cell of the matrix is put through, for a quick run and for a thorough one. */

const MB = 1 << 20;

/** Each body in bytes: `WEIR_INTEROP_MB`, or a few. */
export function bodySize(way: Way): number {
  const wanted = Number(process.env['WEIR_INTEROP_MB'] ?? 16) * MB;
  return Math.max(wanted, leastBody(way));
}

/** v2ray makes VMess chunks of 2 KB: 65,536 of them, where nonces begin again, are less than this. */
const leastBody = (way: Way): number =>
  way.protocol === 'vmess' && way.cipher === 'aes-128-gcm' && isPlain(way) ? 144 * MB : 0;

/** Streams at once: `WEIR_INTEROP_STREAMS`, or a hundred, and a thousand with one header each. */
export function streamCount(way: Way): number {
  const wanted = process.env['WEIR_INTEROP_STREAMS'];
  if (wanted !== undefined) return Number(wanted);
  const isLight = isPlain(way) && (way.protocol === 'trojan' || way.protocol === 'vless');
  return isLight ? 1000 : 100;
}
