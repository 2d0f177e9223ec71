import { outboundText } from '@weir/nodes/import/write/tables';
import {
  clashDocument,
  clashProxy,
  draftOf,
  type InboundServer,
  shareLink,
  singBoxOutbound,
  xrayOutbound,
} from '@weir/nodes/share';
import { UniqueNames } from '@weir/nodes/import/write/tables';
import { printable, printableJson, printableJsonLines, quoted } from '@weir/base/printable';
import { type SharedServer, ShareError } from '@weir/proxy/protocols/forms';
import { encode } from 'uqr';
import type { QrForm, ShareForm } from './specs.ts';

/** A server with the tag of its inbound. */
export interface Shared extends InboundServer {
  readonly inbound: string;
}

/** A server in an output form: text, or an object of another program. */
interface Formed extends Shared {
  readonly formed: string | Readonly<Record<string, unknown>>;
}

/**
 * The output of the command.
 *
 * @param note called for each server that is left out, and with further steps
 * @throws {ShareError} when no server is left
 */
export function sharedText(
  shared: readonly Shared[],
  {
    form,
    qr,
    json,
  }: {
    readonly form: ShareForm;
    readonly qr: QrForm | undefined;
    readonly json: boolean;
  },
  note: (text: string) => void,
): string {
  const formed = inForm(withUniqueNames(shared), form, note);
  if (json) return `${printableJson(formed.map((each) => jsonOf(each, form)))}\n`;
  if (qr !== undefined) return qrText(formed, qr);
  switch (form) {
    case 'link':
      return `${textsOf(formed).join('\n')}\n`;
    case 'weir':
      return textsOf(formed).join('\n');
    case 'clash':
      return clashDocument(objectsOf(formed));
    case 'sing-box':
    case 'xray':
      return `${printableJsonLines({ outbounds: objectsOf(formed) })}\n`;
    default:
      return form satisfies never;
  }
}

const textsOf = (formed: readonly Formed[]): readonly string[] =>
  formed.map((each) => each.formed).filter((each) => typeof each === 'string');

const objectsOf = (formed: readonly Formed[]): readonly object[] =>
  formed.map((each) => each.formed).filter((each) => typeof each === 'object');

/** Formats servers; those that the form cannot express are noted and left out. */
function inForm(
  shared: readonly Shared[],
  form: ShareForm,
  note: (text: string) => void,
): readonly Formed[] {
  const formed = shared.flatMap((each): Formed[] => {
    try {
      return [{ ...each, formed: formOf(each, form) }];
    } catch (error) {
      if (!(error instanceof ShareError)) throw error;
      note(`${quoted(each.server.name)} was left out: ${error.message}`);
      return [];
    }
  });
  if (formed.length === 0) throw new ShareError('there is nothing to share in this form');
  if (form === 'weir') for (const text of filesToCopy(formed)) note(text);
  return formed;
}

function formOf({ server, inbound }: Shared, form: ShareForm): Formed['formed'] {
  switch (form) {
    case 'link':
      return shareLink(server);
    case 'sing-box':
      return singBoxOutbound(server);
    case 'xray':
      return xrayOutbound(server);
    case 'clash':
      return clashProxy(server);
    case 'weir':
      return outboundText(server.name, draftOf(server, caFileFor(inbound)));
    default:
      return form satisfies never;
  }
}

/** Name of the file in which a client of Weir expects a certificate that no authority vouches for. */
const caFileFor = (inbound: string): string => `${inbound.replaceAll(/[^A-Za-z0-9_-]/g, '_')}.pem`;

const filesToCopy = (formed: readonly Formed[]): ReadonlySet<string> =>
  new Set(
    formed.flatMap(({ server, inbound }) =>
      needsFile(server)
        ? [
            `copy the certificate of inbound ${quoted(inbound)}, or of its authority, to the client as ${caFileFor(inbound)}`,
          ]
        : [],
    ),
  );

function needsFile({ access }: SharedServer): boolean {
  const tls = access.tls ?? access.stream?.tls;
  return tls !== undefined && tls.certificate !== undefined && !tls.insecure;
}

/** Makes the names of servers unique, by which clients distinguish them. */
function withUniqueNames(shared: readonly Shared[]): readonly Shared[] {
  const names = new UniqueNames();
  return shared.map((each) => {
    const { server } = each;
    return { ...each, server: { ...server, name: names.next(server.name, server.host) } };
  });
}

const jsonOf = ({ inbound, user, server, formed }: Formed, form: ShareForm): object => ({
  inbound,
  user: user ?? null,
  name: server.name,
  [form === 'link' ? 'link' : 'outbound']: formed,
});

/** The QR codes of links. @throws {ShareError} for an SVG of several links, and for a link that is too long */
function qrText(formed: readonly Formed[], qr: 'terminal' | 'svg'): string {
  const codes = textsOf(formed).map(qrModules);
  if (qr === 'terminal') {
    return codes
      .map((modules, index) => `${nameOf(formed[index])}\n${qrForTerminal(modules)}`)
      .join('\n');
  }
  const [code, ...others] = codes;
  if (!code || others.length > 0) {
    throw new ShareError(
      `there are ${codes.length} links, and a drawing holds one: choose it by --inbound and --user`,
    );
  }
  return qrSvg(code);
}

const nameOf = (formed: Formed | undefined): string => printable(formed?.server.name ?? '');

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
