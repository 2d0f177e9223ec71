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
