import { join } from 'node:path';
import { outboundText } from '@weir/nodes/import/write/tables';
import { apiSocketFor, SERVICE_FOLDER } from '@weir/server/app/control/control-folder';
import { basicString, labelComment } from '@weir/config/text';
import { LOCAL_LISTENERS } from '@weir/config/sources/default-config';
import { draftOf, shareLink } from '@weir/nodes/share';
import type { SharedCarrier } from '@weir/proxy/protocols/forms';
import { generatedServer, type PlannedInbound, type ServerPlan, USER } from './server-plan.ts';

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

const OWN_NETWORK = `
# Clients do not get at the server's own network.
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
