import { ShareError } from '@weir/proxy/protocols/forms';
import { encode } from 'uqr';

/** Width of the white border around a code, in modules (ISO/IEC 18004 §6.3.8). */
const QUIET_ZONE = 4;

/** Maximum bytes of text in the largest code (version 40, level L). */
const MOST_BYTES = 2953;

/**
 * The modules of a QR code with its quiet zone, row by row, `true` for black. Error correction has the highest level
 * that fits into the smallest possible code.
 *
 * @throws {ShareError} for a text that no code can hold
 */
export function qrModules(text: string): readonly (readonly boolean[])[] {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) {
    throw new ShareError(
      `the link has ${bytes} bytes, of which a QR code holds ${MOST_BYTES}: send the link itself`,
    );
  }
  return encode(text, { ecc: 'L', boostEcc: true, border: QUIET_ZONE }).data;
}

/** Black on white, independent of the terminal's colours: two entries of the fixed 6×6×6 cube. */
const BLACK_ON_WHITE = '\u001b[38;5;16;48;5;231m';
const RESET = '\u001b[0m';

const BLOCKS = { both: '█', upper: '▀', lower: '▄', none: ' ' } as const;

/** Draws a code for a terminal, two rows of modules per line. */
export function qrForTerminal(modules: readonly (readonly boolean[])[]): string {
  const lines: string[] = [];
  for (let row = 0; row < modules.length; row += 2) {
    const upper = modules[row] ?? [];
    const lower = modules[row + 1] ?? [];
    const blocks = upper.map((isBlack, column) => blockOf(isBlack, lower[column] ?? false));
    lines.push(`${BLACK_ON_WHITE}${blocks.join('')}${RESET}\n`);
  }
  return lines.join('');
}

function blockOf(upper: boolean, lower: boolean): string {
  if (upper) return lower ? BLOCKS.both : BLOCKS.upper;
  return lower ? BLOCKS.lower : BLOCKS.none;
}

/** SVG units per module, for programs that ignore `viewBox`. */
const SVG_MODULE = 8;

/** Draws a code as SVG; its black modules are one path of horizontal runs. */
export function qrSvg(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length;
  const runs: string[] = [];
  for (const [y, row] of modules.entries()) {
    for (let x = 0; x < size; x++) {
      if (row[x] !== true) continue;
      const start = x;
      while (row[x + 1] === true) x++;
      runs.push(`M${start} ${y}h${x - start + 1}v1H${start}z`);
    }
  }
  const shown = size * SVG_MODULE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${shown}" height="${shown}" shape-rendering="crispEdges">`,
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/>`,
    `<path fill="#000" d="${runs.join('')}"/>`,
    '</svg>\n',
  ].join('\n');
}
