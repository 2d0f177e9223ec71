import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type NamedServer,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { isEmpty, type ForeignObject } from './foreign-object.ts';
import type { SharedStream, SharedTls } from './shared-server.ts';

/* Parts of an outbound of sing-box (`option/` of SagerNet/sing-box), read and written. */

export function serverIn(fields: ForeignObject, name: string): NamedServer {
  const server = bareHost(fields.needText('server'));
  if (fields.states('server_ports')) {
    throw new ImportError('several ports (port hopping) are not supported');
  }
  return { name, server, port: toPort(fields.number('server_port')) };
}

export function tlsIn(fields: ForeignObject): Tls | undefined {
  const tls = fields.fields('tls');
  if (!tls.flag('enabled')) return undefined;
  if (tls.fields('reality').flag('enabled')) throw new ImportError('REALITY is not supported');
  const states = (key: string): boolean => tls.list(key).some((each) => !isEmpty(each));
  if (states('certificate')) {
    throw new ImportError('tls.certificate: write the CA to a file, and its name as ca_file');
  }
  return {
    serverName: tls.text('server_name'),
    allowInsecure: tls.flag('insecure'),
    caFile: tls.firstText('certificate_path'),
    pinnedBy: states(PUBLIC_KEY) ? `tls.${PUBLIC_KEY}` : undefined,
  };
}

const PUBLIC_KEY = 'certificate_public_key_sha256';

export function streamIn(fields: ForeignObject): StreamDraft | undefined {
  const transport = fields.fields('transport');
  return streamOf(
    {
      kind: transport.text('type') ?? '',
      path: transport.text('path'),
      host: transport.fields('headers').header('Host'),
      earlyData: {
        key: 'transport.max_early_data',
        bytes: transport.number('max_early_data'),
        header: transport.text('early_data_header_name'),
      },
      serviceName: transport.text('service_name'),
    },
    tlsIn(fields),
  );
}

export const streamForm = ({ tls, carrier }: SharedStream): object => ({
  ...(tls ? { tls: tlsForm(tls) } : {}),
  ...(carrier.kind === 'ws'
    ? {
        transport: {
          type: 'ws',
          path: carrier.path,
          ...(carrier.host === undefined ? {} : { headers: { Host: carrier.host } }),
        },
      }
    : {}),
  ...(carrier.kind === 'grpc'
    ? { transport: { type: 'grpc', service_name: carrier.serviceName } }
    : {}),
});

/** TLS settings, in which a pinned certificate is the authority that the client trusts. */
export const tlsForm = ({ serverName, insecure, certificate }: SharedTls): object => ({
  enabled: true,
  server_name: serverName,
  ...(insecure ? { insecure: true } : {}),
  ...(certificate && !insecure ? { certificate: certificate.pem.trim().split('\n') } : {}),
});
