import { buildText, type Build } from '@weir/io/process';
import { VERSION, hintsOf } from '@weir/base';
import { apiSocketFor } from '@weir/server/app/control/control-folder';
import type { InboundStatus, LastReload, RunningStatus } from '@weir/server/control';
import type { LostCause, Monitor, Reachability } from '@weir/client/monitor';
import { commandLine } from '../shared/texts.ts';
import type { FrameState } from './view.ts';

type Lost = Extract<Reachability, { kind: 'lost' }>;

/** The state of an API that cannot be used; `undefined` if it can, or is still being tried. */
export function apiState(
  { api, listedAt }: Pick<Monitor, 'api' | 'listedAt'>,
  config: string | undefined,
): FrameState | undefined {
  switch (api.kind) {
    case 'connecting':
    case 'reached':
      return undefined;
    case 'absent':
      return {
        kind: 'no-api',
        config: config ?? null,
        listen: (config === undefined ? undefined : apiSocketFor(config)) ?? null,
        isOld: listedAt !== undefined,
      };
    case 'lost':
      return lostState(api);
    default:
      return api satisfies never;
  }
}

function lostState(lost: Lost): FrameState {
  const failure = failureOf(lost);
  if (lost.cause === 'ended') return { kind: 'restarting', since: lost.since };
  if (lost.cause === 'forbidden') return { kind: 'forbidden', what: 'api', ...failure };
  return { kind: KINDS[lost.cause], ...failure };
}

const KINDS = {
  refused: 'nothing-there',
  'other-server': 'other-server',
  unauthorized: 'unauthorized',
  other: 'lost',
} as const satisfies Record<Exclude<LostCause, 'ended' | 'forbidden'>, FrameState['kind']>;

/** The state of a control socket that cannot be used; `undefined` if it can, or is still being tried. */
export function socketState(socket: Reachability): FrameState | undefined {
  switch (socket.kind) {
    case 'connecting':
    case 'reached':
      return undefined;
    case 'absent':
      return { kind: 'no-socket', message: 'No control socket was found.', hint: null };
    case 'lost': {
      const failure = failureOf(socket);
      return socket.cause === 'forbidden'
        ? { kind: 'forbidden', what: 'socket', ...failure }
        : { kind: 'no-socket', ...failure };
    }
    default:
      return socket satisfies never;
  }
}

const failureOf = ({ error }: Lost) => ({
  message: error.message,
  hint: hintsOf(error)[0] ?? null,
});

/** The state after a failed reload; `undefined` after a successful one. */
export function reloadState(
  last: LastReload | null | undefined,
  socket: string | undefined,
): FrameState | undefined {
  if (last?.outcome.kind !== 'failed') return undefined;
  const { place } = last;
  return {
    kind: 'reload-refused',
    line: last.outcome.line,
    place: place && `${place.file ?? 'line'}:${place.line}:${place.column}`,
    command: commandLine(['weir', 'reload', ...(socket === undefined ? [] : [socket])]),
  };
}

/** The state before the first flow; `undefined` if there are flows, or the list is not known. */
export function emptyState({ flows, listedAt, status }: Monitor): FrameState | undefined {
  if (listedAt === undefined || flows.size > 0) return undefined;
  return { kind: 'no-flows', example: exampleOf(status?.value) };
}

/** Proxy schemes of curl for the protocols that it speaks without credentials. */
const SCHEMES: Readonly<Record<string, string>> = {
  socks: 'socks5h',
  http: 'http',
};

function exampleOf(status: RunningStatus | undefined): string | null {
  const inbound = status?.inbounds.find(({ protocol }) => Object.hasOwn(SCHEMES, protocol));
  return inbound
    ? commandLine(['curl', '--proxy', proxyOf(inbound), 'https://example.com/'])
    : null;
}

const proxyOf = ({ protocol, address }: InboundStatus): string =>
  `${SCHEMES[protocol]}://${address.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')}`;

/**
 * The state in which the running Weir and this process differ in version, or in commit where the versions are equal. A
 * running Weir that reports no build is too old to report one.
 *
 * @param status `undefined` without a control socket
 */
export function differingVersions(
  running: string | undefined,
  status: { readonly build?: Build | null } | undefined,
  ownBuild: Build | undefined,
): FrameState | undefined {
  if (running === undefined) return undefined;
  if (running !== VERSION) return { kind: 'versions-differ', running, own: VERSION };
  if (!status || !ownBuild || status.build === null) return undefined;
  if (status.build?.commit === ownBuild.commit) return undefined;
  const of = (text: string): string => `${VERSION} (${text})`;
  return {
    kind: 'versions-differ',
    running: of(status.build ? buildText(status.build) : 'an earlier build'),
    own: of(buildText(ownBuild)),
  };
}
