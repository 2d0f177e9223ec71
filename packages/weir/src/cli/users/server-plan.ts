import type {
  GeneratedServer,
  NewSecrets,
  PinnedCertificate,
  SharedAccess,
  SharedServer,
  SharedTls,
} from '@weir/proxy/protocols/forms';
import { formsOf } from '@weir/proxy/protocols';
import type { RandomSource } from '@weir/base/random';
import { ipVersion } from '@weir/base/ip';
import { isLocal } from '@weir/nodes/share';
import { password, uuid } from '@weir/nodes/accounts/new-secrets';
import type { ServerProtocol } from './specs.ts';

export interface FileArguments {
  readonly output: string | undefined;
  readonly force: boolean;
  /** Days for which a certificate is valid. */
  readonly days: number;
}

export interface ServerArguments extends FileArguments {
  readonly kind: 'server';
  /** Protocols of the inbounds, without duplicates. */
  readonly protocols: readonly ServerProtocol[];
  /** Prefix of file names. */
  readonly name: string;
  /** The host in the form of flows: an address, or a name in ASCII. */
  readonly host: string | undefined;
  readonly portBase: number | undefined;
}

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
  readonly network: GeneratedServer<SharedAccess>['network'];
  /**
   * The server as its one user's client reaches it. The tag of the inbound, and of the client's outbound, is the
   * protocol.
   */
  readonly server: SharedServer;
}

/** The label of the first user. */
export const USER = 'user1';

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
  const secrets = secretsFrom(random);
  const inbounds = protocols.map((protocol, index): PlannedInbound => {
    const generated = generatedServer(protocol);
    const { port, network } = generated;
    const server = {
      name: `${name} ${protocol} ${USER}`,
      host,
      port: base === undefined ? port : base + index,
      access: generated.access(USER, tls, secrets),
    };
    return { protocol, network, server };
  });
  const loopback = ipVersion(host) === 0 ? TRIAL_HOST : host;
  const hasTls = inbounds.some(({ server: { access } }) => access.tls ?? access.stream?.tls);
  return { name, host, listen: isTrial ? loopback : '::', isTrial, hasTls, inbounds };
}

/** The host that the certificate must name. */
export const plannedHost = ({ host = TRIAL_HOST }: ServerArguments): string => host;

/** Number of characters of a path or service name that cannot be found by brute force. */
const SECRET_PATH = 16;

const secretsFrom = (random: RandomSource): NewSecrets => ({
  uuid: () => uuid(random),
  password: () => password(random),
  path: () => password(random, SECRET_PATH),
  key: (bytes) => random.bytes(bytes).toString('base64'),
});

/** How a protocol is served securely. */
export function generatedServer(protocol: string): GeneratedServer<SharedAccess> {
  const generated = formsOf(protocol)?.generated;
  if (!generated) throw new RangeError(`no server is made of ${protocol}`);
  return generated;
}
