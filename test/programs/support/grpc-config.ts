import { portOf, type Address } from '../../support/data/address.ts';
import { certificate } from '../../support/ways/certificate.ts';
import { ID } from '../../support/ways/secrets.ts';

export const SERVICE = 'svc';
/** The path of a tunnel. */
export const TUNNEL_PATH = `/${SERVICE}/Tun`;

/** A configuration with a VLESS inbound over gRPC, with the tag `grpc`, and direct exits. */
export function grpcConfig(security: 'plain' | 'tls'): string {
  const { certFile, keyFile } = certificate();
  const tls = `security = "tls"\ntls = { cert_file = "${certFile}", key_file = "${keyFile}" }`;
  return `
[[inbound]]
tag = "grpc"
protocol = "vless"
port = 0
[inbound.settings]
users = [{ id = "${ID}" }]
[inbound.stream]
network = "grpc"
${security === 'tls' ? tls : ''}
[inbound.stream.grpc]
service_name = "${SERVICE}"

[[outbound]]
tag = "direct"
protocol = "direct"
`;
}

/** A Weir that serves SOCKS, with the tag `socks`, and sends all to such an inbound without TLS. */
export const grpcClientConfig = (server: Address): string => `
[[inbound]]
tag = "socks"
protocol = "socks"
port = 0

[[outbound]]
tag = "out"
protocol = "vless"
server = "127.0.0.1"
port = ${portOf(server)}
[outbound.settings]
id = "${ID}"
[outbound.stream]
network = "grpc"
[outbound.stream.grpc]
service_name = "${SERVICE}"
`;
