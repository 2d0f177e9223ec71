import { replaceUnprintable } from '@weir/base/printable';
import {
  type Draft,
  draftedStream,
  draftedTls,
  type ProtocolForms,
  type SharedServer,
  ShareError,
} from '@weir/proxy/protocols/forms';
import { formsOf } from '@weir/proxy/protocols';

/* A server in the forms of other programs, and of Weir. Each throws a ShareError for what the program lacks. */

/**
 * The share link of a server, in the form that most clients read. A certificate that no authority vouches for is pinned
 * by its hash, where the link has a parameter for that.
 */
export function shareLink(server: SharedServer): string {
  const { link } = formsIn(server);
  if (!link?.write) throw lacking(server, 'link');
  return link.write(server);
}

/** A server as an outbound of sing-box. A pinned certificate is the authority that the client trusts. */
export function singBoxOutbound(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name: tag, host, port, access } = server;
  const { singBox } = formsIn(server);
  if (!singBox?.write) throw lacking(server, 'outbound of sing-box');
  return { type: singBox.type, tag, server: host, server_port: port, ...singBox.write(access) };
}

/** A server as an outbound of Xray and v2ray. */
export function xrayOutbound(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name: tag, host: address, port, access } = server;
  const { xray } = formsIn(server);
  if (!xray?.write) throw lacking(server, 'outbound of Xray');
  return { tag, protocol: xray.protocol, ...xray.write(access, { address, port }) };
}

/** A server as a proxy of mihomo. */
export function clashProxy(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name, host, port, access } = server;
  const { clash } = formsIn(server);
  if (!clash?.write) throw lacking(server, 'proxy of Clash');
  return { name, type: clash.type, server: host, port, ...clash.write(access) };
}

/** A YAML document with the `proxies` of Clash and mihomo, one per line in flow style. */
export const clashDocument = (proxies: readonly object[]): string =>
  `proxies:\n${proxies.map((proxy) => `  - ${flowText(proxy)}\n`).join('')}`;

/** Formats a value as JSON, which is YAML and quotes all texts, so that no reader parses them as numbers. */
const flowText = (value: object): string =>
  replaceUnprintable(
    JSON.stringify(value),
    (codePoint) => String.raw`\U${codePoint.toString(16).padStart(8, '0')}`,
  );

/**
 * A server as an outbound of Weir.
 * @param caFile the path on the client of the server's certificate, where no authority vouches for it
 */
export function draftOf(server: SharedServer, caFile: string | undefined): Draft {
  const { name, host, port, access } = server;
  const { protocol, settings, stream, tls } = access;
  const secured = tls ? draftedTls(tls, caFile) : {};
  return {
    name,
    server: host,
    port,
    protocol,
    settings: formsIn(server).drafted?.(access, secured) ?? { ...settings, ...secured },
    stream: stream && draftedStream(stream, caFile),
  };
}

const formsIn = ({ access }: SharedServer): ProtocolForms => formsOf(access.protocol) ?? {};

const lacking = ({ access }: SharedServer, form: string): ShareError =>
  new ShareError(`${access.protocol} has no ${form}`);
