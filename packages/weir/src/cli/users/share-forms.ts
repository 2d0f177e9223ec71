import {
  clashDocument,
  type Formed,
  inForm,
  objectsOf,
  qrForTerminal,
  qrModules,
  qrSvg,
  type Shared,
  type ShareForm,
  textsOf,
} from '@weir/nodes/share';
import { printable, printableJson, printableJsonLines } from '@weir/base/printable';
import { ShareError } from '@weir/proxy/protocols/forms';
import type { QrForm } from './specs.ts';

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
  const formed = inForm(shared, form, note);
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
