import { quoted } from '@weir/base/printable';
import { type SharedServer, ShareError } from '@weir/proxy/protocols/forms';
import { outboundText, UniqueNames } from '../import/write/tables.ts';
import { clashProxy, draftOf, shareLink, singBoxOutbound, xrayOutbound } from './forms.ts';
import type { InboundServer } from './inbound-servers.ts';

/** A form of servers: share links, or outbounds of a program. */
export type ShareForm = 'link' | 'sing-box' | 'xray' | 'clash' | 'weir';

/** A server with the tag of its inbound. */
export interface Shared extends InboundServer {
  readonly inbound: string;
}

/** A server in an output form: text, or an object of another program. */
export interface Formed extends Shared {
  readonly formed: string | Readonly<Record<string, unknown>>;
}

/** The texts of servers in a form of text. */
export const textsOf = (formed: readonly Formed[]): readonly string[] =>
  formed.map((each) => each.formed).filter((each) => typeof each === 'string');

/** The objects of servers in a form of objects. */
export const objectsOf = (formed: readonly Formed[]): readonly object[] =>
  formed.map((each) => each.formed).filter((each) => typeof each === 'object');

/**
 * Formats servers, with names that are unique among them, by which clients distinguish them. Those that the form cannot
 * express are left out.
 *
 * @param note called for each server that is left out, and with further steps
 * @throws {ShareError} when no server is left
 */
export function inForm(
  shared: readonly Shared[],
  form: ShareForm,
  note: (text: string) => void,
): readonly Formed[] {
  const formed = withUniqueNames(shared).flatMap((each): Formed[] => {
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

function withUniqueNames(shared: readonly Shared[]): readonly Shared[] {
  const names = new UniqueNames();
  return shared.map((each) => {
    const { server } = each;
    return { ...each, server: { ...server, name: names.next(server.name, server.host) } };
  });
}
