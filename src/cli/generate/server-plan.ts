import type { RandomSource } from '../../crypto/random-source.ts';
import { ipVersion } from '../../ip/ip-version.ts';
import { isLocal } from '../../share/inbound-servers.ts';
import type {
  PinnedCertificate,
  SharedAccess,
  SharedServer,
  SharedTls,
} from '../../share/shared-server.ts';
import type { ServerArguments, ServerProtocol } from './arguments.ts';
import { password, presharedKey, uuid } from '../../accounts/new-secrets.ts';

/** The inbounds of a server to be generated, with all secrets, and the settings of its clients. */
export interface ServerPlan {
  readonly name: string;
  readonly host: string;
  /** The address that the inbounds listen on. */
  readonly listen: string;
  /** Whether the server serves only this machine. */
  readonly isTrial: boolean;
  /** Whether an inbound uses TLS, and so the certificate. */
  readonly hasTls: boolean;
  readonly inbounds: readonly PlannedInbound[];
}

export interface PlannedInbound {
  readonly protocol: ServerProtocol;
  readonly network: 'TCP' | 'UDP' | 'TCP and UDP';
  /**
   * The server as its one user's client reaches it. The tag of the inbound, and of the client's outbound, is the
   * protocol.
   */
  readonly server: SharedServer;
}

/** The label of the first user. */
export const USER = 'user1';

const SHADOWSOCKS_METHOD = '2022-blake3-aes-128-gcm';

interface Usual {
  readonly port: number;
  readonly network: PlannedInbound['network'];
}

/** Default ports, which client networks are most likely to allow: those of HTTPS, and neighbouring ones. */
const USUAL: Readonly<Record<ServerProtocol, Usual>> = {
  vless: { port: 443, network: 'TCP' },
  hysteria2: { port: 443, network: 'UDP' },
  trojan: { port: 8443, network: 'TCP' },
  vmess: { port: 2083, network: 'TCP' },
  http: { port: 2087, network: 'TCP' },
  shadowsocks: { port: 8388, network: 'TCP and UDP' },
};

/** The ports of a trial start here, where no privileges are needed. */
const TRIAL_PORT_BASE = 10_443;
const TRIAL_HOST = '127.0.0.1';

/** @param certificate the server's certificate, which clients trust */
export function planServer(
  { name, protocols, host = TRIAL_HOST, portBase }: ServerArguments,
  certificate: PinnedCertificate,
  random: RandomSource,
): ServerPlan {
  const isTrial = isLocal(host);
  const base = portBase ?? (isTrial ? TRIAL_PORT_BASE : undefined);
  const tls: SharedTls = { serverName: host, insecure: false, certificate };
  const inbounds = protocols.map((protocol, index): PlannedInbound => {
    const { port, network } = USUAL[protocol];
    const server = {
      name: `${name} ${protocol} ${USER}`,
      host,
      port: base === undefined ? port : base + index,
      access: accessOf(protocol, tls, random),
    };
    return { protocol, network, server };
  });
  const loopback = ipVersion(host) === 0 ? TRIAL_HOST : host;
  const hasTls = protocols.some((protocol) => protocol !== 'shadowsocks');
  return { name, host, listen: isTrial ? loopback : '::', isTrial, hasTls, inbounds };
}

/** The host that the certificate must name. */
export const plannedHost = ({ host = TRIAL_HOST }: ServerArguments): string => host;

/** Number of characters of a path or service name that cannot be found by brute force. */
const SECRET_PATH = 16;

function accessOf(protocol: ServerProtocol, tls: SharedTls, random: RandomSource): SharedAccess {
  switch (protocol) {
    case 'vless': {
      const carrier = {
        kind: 'ws',
        path: `/${password(random, SECRET_PATH)}`,
        host: undefined,
      } as const;
      return { protocol, id: uuid(random), stream: { tls, carrier } };
    }
    case 'vmess': {
      const serviceName = password(random, SECRET_PATH);
      const carrier = { kind: 'grpc', serviceName, authority: undefined } as const;
      return { protocol, id: uuid(random), stream: { tls, carrier } };
    }
    case 'trojan':
      return { protocol, password: password(random), stream: { tls, carrier: { kind: 'raw' } } };
    case 'shadowsocks': {
      const [identity, own] = [0, 1].map(() => presharedKey(random, SHADOWSOCKS_METHOD));
      return { protocol, method: SHADOWSOCKS_METHOD, password: `${identity}:${own}` };
    }
    case 'hysteria2':
      return { protocol, auth: `${USER}:${password(random)}`, tls, obfuscation: undefined };
    case 'http': {
      const login = { user: USER, pass: password(random) };
      return { protocol, login, stream: { tls, carrier: { kind: 'raw' } } };
    }
    default:
      return protocol satisfies never;
  }
}
