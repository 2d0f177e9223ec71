import { VERSION } from '@weir/base';
import type { Address } from '../data/address.ts';
import { freedom, rule, socksIn } from '../process/config.ts';
import { Weir, type WeirOptions } from '../process/weir.ts';
import type { Lack } from './lack.ts';
import type { End, Program, Role } from './program.ts';
import { isPlain, type Way } from './way.ts';
import { weirIn, weirOut } from './weir-config.ts';

const SILENT_DEATH: Lack = {
  features: ['a dead server is noticed'],
  note: 'the death of a QUIC server is noticed by its silence of 30 s',
};

/** Weir at either end; `options` are for measurements and changes of its environment. */
export const weirProgram = (options: WeirOptions = {}): Program => ({
  name: 'weir',
  needs: { server: [], client: [] },
  version: () => VERSION,
  unable,
  lacks: ({ protocol }) => (protocol === 'hysteria2' ? [SILENT_DEATH] : []),
  server: (way, { port = 0 } = {}) =>
    start(weirIn(way, { tag: 'way', port }) + freedom(), 'way', options),
  client: (way, server) => start(socksIn() + weirOut(way, server), 'socks', options),
});

/** What one Weir is the server of, each at a port of the kernel's choice or its own, and the client of. */
export interface Ends {
  readonly servers?: readonly { readonly way: Way; readonly port?: number }[];
  readonly clients?: readonly { readonly way: Way; readonly server: Address }[];
}

/** One Weir with several ends: a start costs more processor time than most of what is asked of an end. */
export interface WeirEnds extends AsyncDisposable {
  readonly weir: Weir;
  readonly servers: readonly Address[];
  /** A SOCKS listener for each client. */
  readonly clients: readonly Address[];
}

export async function startWeirEnds(
  { servers = [], clients = [] }: Ends,
  options: WeirOptions = {},
): Promise<WeirEnds> {
  const config = [
    ...servers.map(({ way, port = 0 }, at) => weirIn(way, { tag: `way-${at}`, port })),
    freedom(),
    ...clients.map(
      ({ way, server }, at) =>
        socksIn(`socks-${at}`) +
        weirOut(way, server, { tag: `out-${at}` }) +
        rule(`out-${at}`, `inbound_tag = ["socks-${at}"]`),
    ),
  ];
  const weir = await Weir.start(config.join(''), options);
  return {
    weir,
    servers: servers.map((_, at) => weir.address(`way-${at}`)),
    clients: clients.map((_, at) => weir.address(`socks-${at}`)),
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}

function unable(way: Way, role: Role): string | undefined {
  const { protocol, mux, xudp, carrier } = way;
  if (role === 'server') {
    return (protocol === 'socks' || protocol === 'shadowsocks') && !isPlain(way)
      ? `Weir takes ${protocol} in over plain TCP only`
      : undefined;
  }
  if (mux !== undefined || xudp === true) return 'Weir takes Mux.Cool in and never sends it';
  if (carrier?.multi === true) return 'Weir takes TunMulti in and never sends it';
  return undefined;
}

async function start(config: string, tag: string, options: WeirOptions): Promise<End> {
  const weir = await Weir.start(config, options);
  return {
    child: weir.child,
    address: weir.address(tag),
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}
