import { outboundText } from '@weir/nodes/import/write/tables';
import { join } from 'node:path';
import { apiSocketFor, SERVICE_FOLDER } from '@weir/server/app/control/control-folder';
import { labelComment, basicString } from '@weir/config/text';
import { LOCAL_LISTENERS } from '@weir/config/documents';
import { draftOf, shareLink, isLocal } from '@weir/nodes/share';
import type {
  SharedCarrier,
  PinnedCertificate,
  SharedAccess,
  SharedServer,
  SharedTls,
} from '@weir/proxy/protocols/forms';
import type { GeneratedServer, NewSecrets } from '@weir/proxy/protocols/forms';
import { formsOf } from '@weir/proxy/protocols';
import type { RandomSource } from '@weir/base/random';
import { ipVersion } from '@weir/base/ip';
import type { ServerProtocol } from './specs.ts';
import { password, uuid } from '@weir/nodes/accounts/new-secrets';

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
interface ServerPlan {
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

interface PlannedInbound {
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
function generatedServer(protocol: string): GeneratedServer<SharedAccess> {
  const generated = formsOf(protocol)?.generated;
  if (!generated) throw new RangeError(`no server is made of ${protocol}`);
  return generated;
}

/** The names of a server's files. */
export const fileNames = (name: string) => ({
  server: `${name}.server.toml`,
  client: `${name}.client.toml`,
  certificate: `${name}.cert.pem`,
  key: `${name}.key.pem`,
});

/**
 * The configuration of the server.
 * @param folder the absolute directory of its files, so that it can be started and edited from any directory
 */
export function serverText(plan: ServerPlan, folder: string): string {
  const { name, host, inbounds, isTrial, hasTls } = plan;
  const files = fileNames(name);
  const authority = hasTls
    ? `
#
# A certificate of an authority takes the place of ${files.certificate} and ${files.key}; the
# clients then lose \`ca_file\`. Where these files move, their paths below change.`
    : '';
  return `# The server ${name}, by \`weir generate server\`:
#
#   weir --config ${files.server}
#
# ${files.client} is a client. For other programs: weir share --host ${host} --config ${files.server}
#
# One more user: weir user add NAME --inbound TAG --config ${files.server}${authority}

${apiText(join(folder, files.server))}${inbounds.map((inbound) => inboundText(inbound, plan, folder)).join('\n')}
[[outbound]]
tag = "direct"
protocol = "freedom"
${isTrial ? TRIAL : OWN_NETWORK}`;
}

/** `[api]` on a unix socket, to which only the user of the server and root can connect. @param config absolute path */
function apiText(config: string): string {
  const socket = apiSocketFor(config);
  if (socket === undefined) return '';
  const where = socket.startsWith(SERVICE_FOLDER) ? `\n# The folder is that of weir.service.` : '';
  return `# For weir dashboard, top and ctl, of the user that runs the server and of root.${where}
[api]
listen = ${basicString(socket)}

`;
}

const TRIAL = `
# A trial, on this machine alone. Before it serves others: clients must not get at the server's own network.
`;

/** A rule with `cidr` takes no names: what a client's own DNS says is for a firewall, of which the guide has an example. */
const OWN_NETWORK = `
# Clients do not get at the server's own network by its addresses and usual names. Any other name
# can lead there too: docs/guides/vps.md has a firewall for that, "The server's own network".
[[route.rule]]
outbound = "blackhole"
domain_suffix = ["localhost", "local", "internal", "home.arpa", "lan"]

[[route.rule]]
outbound = "blackhole"
cidr = [
  "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
  "::/128", "::1/128", "fc00::/7", "fe80::/10",
]
`;

function inboundText(
  { protocol, network, server }: PlannedInbound,
  plan: ServerPlan,
  folder: string,
): string {
  const { access } = server;
  const { certificate, key } = fileNames(plan.name);
  const pathOf = (file: string): string => basicString(join(folder, file));
  const tls = `cert_file = ${pathOf(certificate)}\nkey_file = ${pathOf(key)}`;
  const lines = [
    '[[inbound]]',
    `tag = ${basicString(protocol)}`,
    `protocol = ${basicString(protocol)}`,
    `listen = ${basicString(plan.listen)}${plan.listen === '::' ? '   # IPv4 as well' : ''}`,
    `port = ${server.port}   # ${network}`,
    ...(access.stream ? streamLines(access.stream.carrier, tls) : []),
    '[inbound.settings]',
    ...generatedServer(protocol).settings(access, {
      user: USER,
      comment: labelComment(USER),
      tls,
    }),
  ];
  return `${lines.join('\n')}\n`;
}

function streamLines(carrier: SharedCarrier, tls: string): readonly string[] {
  const network = carrier.kind === 'raw' ? 'tls' : carrier.kind;
  return [
    '[inbound.stream]',
    `network = ${basicString(network)}`,
    ...(carrier.kind === 'raw' ? [] : ['security = "tls"']),
    ...(carrier.kind === 'ws' ? [`ws = { path = ${basicString(carrier.path)} }`] : []),
    ...(carrier.kind === 'grpc'
      ? [`grpc = { service_name = ${basicString(carrier.serviceName)} }`]
      : []),
    '[inbound.stream.tls]',
    tls,
  ];
}

/** Members of the balancer `any`, which probes over TCP. */
const probed = ({ inbounds }: ServerPlan): readonly string[] =>
  inbounds.filter(({ network }) => network !== 'UDP').map(({ protocol }) => protocol);

/**
 * The configuration of a client, and links for other client programs.
 * @param folder the directory of the server's files; a client on another machine has the certificate beside its
 * configuration
 */
export function clientText(plan: ServerPlan, folder: string): string {
  const { name, inbounds, host, hasTls, isTrial } = plan;
  const files = fileNames(name);
  const tags = inbounds.map(({ protocol }) => protocol);
  const members = probed(plan);
  const isBalanced = members.length > 1;
  const standard = isBalanced ? 'any' : (members[0] ?? tags[0] ?? '');
  const others = tags.filter((tag) => tag !== standard);
  const alternatives = others.length === 0 ? '' : `   # or ${others.map(basicString).join(', ')}`;
  const outbounds = inbounds.map(({ protocol, server }) =>
    outboundText(
      protocol,
      draftOf(server, isTrial ? join(folder, files.certificate) : files.certificate),
    ),
  );
  const balancer = isBalanced
    ? `\n# The first that can be reached.\n[[balancer]]\ntag = "any"\noutbounds = [${members.map(basicString).join(', ')}]\n`
    : '';
  const beside = hasTls && !isTrial ? ` Run it beside ${files.certificate}:` : '';
  const refused = hasTls
    ? ` They refuse the self-signed certificate; what they take with it, in their
# own formats, is what \`weir share --host ${host} --config ${files.server} --form sing-box\` prints (or xray, clash).`
    : '';
  return `# A client of the server ${name}: SOCKS on port 1080, HTTP on port 8080.${beside}
#
#   weir --config ${files.client}
#
# Other programs take these links.${refused}
#
${inbounds.map(({ server }) => `# ${shareLink(server)}\n`).join('')}
${LOCAL_LISTENERS}
${outbounds.join('\n')}${balancer}
[route]
default = ${basicString(standard)}${alternatives}
`;
}
