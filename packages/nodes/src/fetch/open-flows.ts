import { requestStatus, servesFile } from '@weir/server/control';
import { WeirError } from '@weir/base';
import { meantHint } from '@weir/proxy/schema';
import type { Spec } from '@weir/proxy/spec';
import type { OutboundFlows } from './outbound-flows.ts';
import { hasExit, OwnEngine, readSpec } from './own-engine.ts';
import { RunningOutbounds } from './running-outbounds.ts';

/** The source of outbounds. */
export interface FlowSource {
  /** A configuration file. */
  readonly config?: string | undefined;
  /** The path of the control socket of a running Weir. */
  readonly socket?: string | undefined;
}

/** Flows through the outbounds of a configuration. */
export interface OpenedFlows extends AsyncDisposable {
  /** `running`: through the Weir of the socket; `own`: by this process. */
  readonly via: 'running' | 'own';
  readonly flows: OutboundFlows;
  /** The configuration, as currently in its file. */
  readonly spec: Spec;
  /** Remarks on how flows are opened: a line each, for standard error. */
  readonly notes: readonly string[];
}

/**
 * Opens flows through the running Weir of `socket` if it serves `config`, or if no file is named; otherwise by an
 * engine in this process, which ends when the result is disposed.
 *
 * @param tags the outbounds that will be used, for the notes
 * @throws {WeirError} for an invalid configuration, when there is neither a file nor a socket, when the running Weir
 * does not respond, or when an outbound does not exist
 */
export async function openFlows(
  { config, socket }: FlowSource,
  tags: (spec: Spec) => readonly string[],
): Promise<OpenedFlows> {
  const running = socket === undefined ? undefined : await runningConfig(socket);
  if (config === undefined && !running) {
    throw new WeirError(
      'no_configuration',
      'no running Weir was found, and --config names no file',
      {
        hint: '--config FILE takes the outbounds of a file, --socket PATH those of a running Weir',
      },
    );
  }
  const isServed = running && (config === undefined || (await servesFile(running, config)));
  const path = config ?? running?.config ?? undefined;
  const spec = await readSpec(path);
  const used = tags(spec);
  for (const tag of used) {
    if (!hasExit(spec, tag)) {
      throw new WeirError(
        'no_outbound',
        `no outbound or balancer has the tag ${JSON.stringify(tag)}`,
        {
          hint: meantHint(
            tag,
            [...spec.outbounds, ...spec.balancers].map(({ tag: own }) => own),
          ),
        },
      );
    }
  }
  if (isServed) {
    const flows = new RunningOutbounds(running.socket);
    const notes = [`through the running Weir (pid ${running.pid}, ${running.socket})`];
    return {
      via: 'running',
      flows,
      spec,
      notes,
      [Symbol.asyncDispose]: () => flows[Symbol.asyncDispose](),
    };
  }
  const flows = await OwnEngine.start(spec);
  const notes = [`by a process of its own from ${path ?? 'the built-in configuration'}`];
  const tunnels = used.filter((tag) => usesWireGuard(spec, tag));
  if (tunnels.length > 0) {
    notes.push(
      `warning: ${tunnels.join(', ')}: a running Weir with the same WireGuard key loses its session to this process for a while; --socket uses its own tunnel`,
    );
  }
  return {
    via: 'own',
    flows,
    spec,
    notes,
    [Symbol.asyncDispose]: () => flows[Symbol.asyncDispose](),
  };
}

async function runningConfig(socket: string) {
  const { pid, config } = await requestStatus(socket);
  return { socket, pid, config };
}

function usesWireGuard({ outbounds, balancers }: Spec, tag: string): boolean {
  const members = balancers.find((balancer) => balancer.tag === tag)?.outbounds ?? [tag];
  return outbounds.some((each) => each.protocol === 'wireguard' && members.includes(each.tag));
}
