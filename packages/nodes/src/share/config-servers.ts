import { quoted } from '@weir/base/printable';
import type { WrittenUser } from '@weir/config/edit';
import type { LoadedConfig } from '@weir/config/load';
import { ShareError } from '@weir/proxy/protocols/forms';
import { suggestion } from '@weir/proxy/schema';
import type { Shared } from './formed.ts';
import { inboundServers, type RefusedCertificate, type ShareOptions } from './inbound-servers.ts';

/** The servers of a configuration's inbounds, one for each user of each inbound. */
export interface ConfigServers {
  readonly servers: readonly Shared[];
  /** Inbounds that clients cannot reach, with the reason. */
  readonly leftOut: readonly { readonly inbound: string; readonly error: ShareError }[];
  /** Inbounds whose certificate clients reject unless it is pinned or trusted. */
  readonly refused: readonly RefusedInbound[];
}

interface RefusedInbound {
  readonly inbound: string;
  readonly protocol: string;
  readonly certificate: RefusedCertificate;
}

/**
 * The servers that clients of a configuration connect to.
 *
 * @param users those that the file has (`listUsers`), for names from its comments
 * @param optionsOf how clients reach an inbound; `undefined` for one that is not shared
 */
export function configServers(
  { spec, merged }: LoadedConfig,
  users: readonly WrittenUser[],
  optionsOf: (tag: string) => ShareOptions | undefined,
): ConfigServers {
  const labels = new Map<string, (string | undefined)[]>();
  for (const { inbound, name } of users) {
    const found = labels.get(inbound);
    if (found) found.push(name);
    else labels.set(inbound, [name]);
  }
  const servers: Shared[] = [];
  const leftOut: { inbound: string; error: ShareError }[] = [];
  const refused: RefusedInbound[] = [];
  for (const [index, inbound] of spec.inbounds.entries()) {
    const { tag } = inbound;
    const options = optionsOf(tag);
    if (!options) continue;
    const written = merged.file.inbound[index]?.value.settings;
    try {
      const found = inboundServers(inbound, written, options, labels.get(tag));
      for (const server of found.servers) servers.push({ ...server, inbound: tag });
      const protocol = found.servers[0]?.server.access.protocol;
      if (!found.refused || protocol === undefined) continue;
      refused.push({ inbound: tag, protocol, certificate: found.refused });
    } catch (error) {
      if (!(error instanceof ShareError)) throw error;
      leftOut.push({ inbound: tag, error });
    }
  }
  return { servers, leftOut, refused };
}

/** Returns the error for a name that a configuration does not have, with the one that may be meant. */
export function unknownName(
  what: 'inbound' | 'user',
  name: string,
  known: Iterable<string>,
): ShareError {
  const meant = suggestion(name, [...known]);
  const hint = meant === undefined ? '' : `; did you mean ${quoted(meant)}?`;
  const which = what === 'inbound' ? 'no inbound has the tag' : 'no user has the name';
  return new ShareError(`${which} ${quoted(name)}${hint}`);
}
