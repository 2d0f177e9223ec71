import { ipVersion } from '../../net/address.ts';
import type { Located } from '../../schema/decoder.ts';
import type { Span } from '../../schema/node.ts';
import type { ListenSpec } from '../../spec.ts';
import { Finding } from '../findings.ts';
import { hostProblem } from '../values/addresses.ts';

/** Loopback: serving the network has to be configured. */
const DEFAULT_LISTEN = '127.0.0.1';

/** Where an inbound listens, as written. */
interface ListenKeys {
  readonly listen: Located<string> | undefined;
  readonly port: Located<number> | undefined;
}

/** Lowers `listen` and `port`, of which each decides what the other may be. @throws {Finding} */
export function lowerListen({ listen, port }: ListenKeys, subject: string, span: Span): ListenSpec {
  const host = listen?.value ?? DEFAULT_LISTEN;
  if (host.startsWith('/')) {
    if (port) throw new Finding('a unix socket listen has no port; remove port', port.span);
    return { kind: 'unix', path: host };
  }
  if (listen) refuse(subject, listen);
  if (!port) throw new Finding('port is required', span);
  return { kind: ipVersion(host) === 0 ? 'name' : 'ip', host, port: port.value };
}

function refuse(subject: string, { value, span }: Located<string>): void {
  const problem = value.startsWith('@')
    ? 'is an abstract socket, which is not supported; a unix socket is a path that starts with /'
    : hostProblem(value);
  if (problem === undefined) return;
  throw new Finding(`${subject}: listen ${JSON.stringify(value)} ${problem}`, span);
}
