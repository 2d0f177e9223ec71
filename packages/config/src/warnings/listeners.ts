import { addressInNetwork, type Cidr, parseCidr } from '@weir/base/ip';
import { canonicalHost, formatEndpoint, ipVersion } from '@weir/io/addresses';
import { inboundProtocol } from '@weir/proxy/protocols';
import type { Span } from '@weir/proxy/schema';
import type { InboundSpec, SocketListenSpec } from '@weir/proxy/spec';
import type { InboundTable } from '../tables/inbound.ts';
import type { Examined, WarningList } from './warning.ts';

/** Warns of inbounds with overlapping addresses, and of open proxies on public addresses. */
export function warnOfListeners({ own, spec, api }: Examined, list: WarningList): void {
  const taken = new TakenAddresses();
  if (api?.listen.kind === 'tcp') {
    const { host, port } = api.listen;
    taken.take('tcp', { kind: 'ip', host, port }, { name: '[api]', span: undefined });
  }
  own.inbound.forEach((table, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound || inbound.listen.kind === 'none') return;
    const { listen } = inbound;
    const span = placeOf(table);
    const name = `inbound ${inbound.tag}`;
    const owners = networksOf(inbound).map((network) =>
      taken.take(network, listen, { name, span }),
    );
    const other = owners.find((owner) => owner !== undefined);
    if (other) {
      list.add('same-address', span, (lineOf) => {
        const line = other.span ? ` in ${lineOf(other.span)}` : '';
        return `${name} listens where ${other.name}${line} does, so binding one of them fails`;
      });
    }
    if (isOpen(inbound) && isPublic(listen)) {
      list.add(
        'open-proxy',
        span,
        () =>
          `${name} has no accounts and listens on ${shown(listen)}: unless a firewall prevents it, other machines can use it without a password`,
      );
    }
  });
}

const placeOf = ({ value: { listen, port, tag } }: InboundTable): Span =>
  (listen ?? port ?? tag).span;

function networksOf({ protocol, listen }: InboundSpec): readonly ('tcp' | 'udp')[] {
  const side = inboundProtocol(protocol);
  if (side.kind === 'sessions') return ['udp'];
  return side.datagrams && listen.kind !== 'unix' ? ['tcp', 'udp'] : ['tcp'];
}

function isOpen({ protocol, settings }: InboundSpec): boolean {
  return inboundProtocol(protocol).open?.(settings) ?? false;
}

const shown = (listen: SocketListenSpec): string =>
  listen.kind === 'unix' ? listen.path : formatEndpoint(listen);

interface Owner {
  readonly name: string;
  readonly span: Span | undefined;
}

const ANY_IPV4 = '0.0.0.0';
const ANY = '::';

/** The owners of ports on addresses. `::` includes IPv4, because listeners are dual-stack. */
class TakenAddresses {
  /** Owners by network and port, then by address. */
  readonly #ports = new Map<string, Map<string, Owner>>();

  /** Adds an address; returns the owner of an address that overlaps it. */
  take(network: 'tcp' | 'udp', listen: SocketListenSpec, owner: Owner): Owner | undefined {
    if (listen.kind !== 'unix' && listen.port === 0) return undefined;
    const port = listen.kind === 'unix' ? 'unix' : `${network} ${listen.port}`;
    const address = listen.kind === 'unix' ? listen.path : canonicalHost(listen.host);
    let hosts = this.#ports.get(port);
    if (!hosts) this.#ports.set(port, (hosts = new Map()));
    const other = overlap(hosts, address, listen.kind);
    if (!hosts.has(address)) hosts.set(address, owner);
    return other;
  }
}

function overlap(
  hosts: ReadonlyMap<string, Owner>,
  address: string,
  kind: SocketListenSpec['kind'],
): Owner | undefined {
  const same = hosts.get(address);
  // The addresses of a name are known only once it is bound.
  if (same || kind !== 'ip') return same;
  const any = hosts.get(ANY);
  if (any) return any;
  if (ipVersion(address) === 4) {
    const wide = hosts.get(ANY_IPV4);
    if (wide) return wide;
  }
  if (address !== ANY && address !== ANY_IPV4) return undefined;
  for (const [host, owner] of hosts) {
    const version = ipVersion(host);
    if (version === 4 || (version === 6 && address === ANY)) return owner;
  }
  return undefined;
}

/** Networks that are not reachable from the Internet: RFC 1918, 6598, 3927, 4193, 4291. */
const PRIVATE: readonly Cidr[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
].flatMap((text) => {
  const network = parseCidr(text);
  return 'problem' in network ? [] : [network];
});

function isPublic(listen: SocketListenSpec): boolean {
  if (listen.kind !== 'ip') return false;
  const address = canonicalHost(listen.host.replace(/%.*/, ''));
  return !PRIVATE.some((network) => addressInNetwork(address, network));
}
