import { WeirError } from '../../errors.ts';
import { openFlows } from '../../fetch/open-flows.ts';
import { outboundNamed } from '../../fetch/own-engine.ts';
import { systemClock } from '../../net/time/clock.ts';
import { printable, printableJson } from '../../printable.ts';
import type { ProbedOutbound } from '../../probe/contract.ts';
import { probeAll } from '../../probe/probe-all.ts';
import type { OutboundSpec, Spec } from '../../spec.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { chooseSocket } from '../../client/choose-socket.ts';
import { parseProbe, PROBE, PROBE_HELP } from './arguments.ts';
import { probeTable } from './table.ts';

/**
 * `weir probe`. Resolves with the exit status: 1 when an outbound had no successful try.
 * @throws {UsageError}
 */
export async function probeCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, tags, config, socket, plan, json } = parseProbe(argv);
  if (help) {
    io.stdout.write(PROBE_HELP);
    return 0;
  }
  const note = (text: string): void => void io.stderr.write(`weir probe: ${printable(text)}\n`);
  return reportErrors(PROBE.name, io, async () => {
    const found = await chooseSocket({ socket, env: io.env }, config);
    await using opened = await openFlows({ config, socket: found }, (spec) => tagsOf(spec, tags));
    for (const text of opened.notes) note(text);
    const { flows, spec, via } = opened;
    const specs = specsOf(spec, tagsOf(spec, tags));
    if (specs.length === 0)
      throw new WeirError(
        'no_outbound',
        'there is no outbound to probe but blackholes, which reach nothing',
      );
    const results: ProbedOutbound[] = [];
    const means = { flows, clock: systemClock, isNew: via === 'own' };
    for await (const result of probeAll(specs, plan, means)) {
      results.push(result);
      if (json) io.stdout.write(`${printableJson(result)}\n`);
    }
    if (!json) io.stdout.write(probeTable(results));
    return results.every(({ ok }) => ok) ? 0 : 1;
  });
}

/** Tags of the requested outbounds and balancers; by default of all outbounds. */
const tagsOf = ({ outbounds }: Spec, tags: readonly string[]): readonly string[] =>
  tags.length > 0 ? tags : outbounds.map(({ tag }) => tag);

/** The distinct outbounds of these tags, in the order of the file. */
function specsOf(spec: Spec, tags: readonly string[]): readonly OutboundSpec[] {
  const members = tags.flatMap(
    (tag) => spec.balancers.find((balancer) => balancer.tag === tag)?.outbounds ?? [tag],
  );
  const order = (tag: string): number => spec.outbounds.findIndex((each) => each.tag === tag);
  return [...new Set(members)]
    .toSorted((a, b) => order(a) - order(b))
    .map((tag) => outboundNamed(spec, tag))
    .filter((found) => found !== undefined && found.protocol !== 'blackhole') as OutboundSpec[];
}
