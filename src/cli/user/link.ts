import { loadConfigFile } from '../../app/loading/inline-runner.ts';
import { listUsers } from '../../config/edit/users/edit-users.ts';
import type { MergedConfig } from '../../config/merge.ts';
import { decodeSource } from '../../config/sources/decode-source.ts';
import { trustedCertificates } from '../../crypto/ca-bundle.ts';
import { inboundServers } from '../../share/inbound-servers.ts';
import { shareLink } from '../../share/forms.ts';
import { loadForms } from '../../protocols/registry.ts';
import { ShareError } from '../../protocols/forms/shared-server.ts';
import { adviceOn } from '../share/certificate-advice.ts';

/**
 * The share link of a user in a file, and what clients do with a certificate that they would reject.
 * @param index of the user in the list of its inbound
 * @throws {ShareError} when clients cannot reach the inbound by `host`
 */
export async function linkOf(
  config: string,
  bytes: Uint8Array,
  { inbound: tag, index, host }: { inbound: string; index: number; host: string },
): Promise<{ readonly link: string; readonly advice: string | undefined }> {
  await loadForms();
  let merged: MergedConfig | undefined;
  const { spec } = await loadConfigFile(config, {
    bytes,
    onMerged: (found) => void (merged = found),
  });
  const at = spec.inbounds.findIndex((inbound) => inbound.tag === tag);
  const inbound = spec.inbounds[at];
  if (!inbound) throw new RangeError('the inbound was edited');
  const labels = listUsers(decodeSource(bytes, config))
    .filter((user) => user.inbound === tag)
    .map(({ name }) => name);
  const options = {
    host,
    port: undefined,
    frontTls: false,
    serverName: undefined,
    insecure: false,
    roots: () => trustedCertificates([]),
    now: Date.now(),
  };
  const written = merged?.file.inbound[at]?.value.settings;
  const { servers, refused } = inboundServers(inbound, written, options, labels);
  const server = servers[index]?.server;
  if (!server) throw new ShareError('the user has no link of its own');
  const advice =
    refused && adviceOn(refused, { form: 'link', insecure: false }, server.access.protocol);
  return { link: shareLink(server), advice };
}
