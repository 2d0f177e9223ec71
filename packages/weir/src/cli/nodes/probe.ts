import { WeirError, UsageError } from '@weir/base';
import { openFlows, outboundNamed } from '@weir/nodes/fetch';
import { systemClock } from '@weir/io/time';
import { printable, printableJson } from '@weir/base/printable';
import {
  DEFAULT_PROBE_URL,
  DEFAULT_TOTAL_SECONDS,
  DEFAULT_TRIES,
  DEFAULT_TRY_SECONDS,
  type ProbedOutbound,
  type ProbeTry,
  probeAll,
  PHASE_NAMES,
} from '@weir/nodes/probe';
import type { OutboundSpec, Spec } from '@weir/proxy/spec';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { chooseSocket } from '@weir/client';
import { PROBE } from './specs.ts';
import { parseBytes, parseCount, parseSeconds } from '../option-values.ts';
import { bytes, milliseconds } from '@weir/base/text/amounts';
import { textTable, type Cell } from '@weir/base/tables';

const DEFAULT_BYTES_URL = 'http://speed.cloudflare.com/__down?bytes=';
const MOST_TRIES = 100;

const PROBE_HELP = `weir probe, which measures outbounds

Usage: weir probe [options] TAG...
       weir probe [options] --all

TAG is an outbound, or a balancer for its members. Each try is a new flow: the name of the server
(resolve), the TCP connection to it (dial), TLS and the carrier (handshake), the first byte of the
URL's response, and a second request on the same connection, which is the latency of the path
alone. The table has medians, and * at the outbound with the fastest second request.

With a running Weir that has this configuration, the flows go through it and change nothing in it;
otherwise through a process of its own. The exit status is 1 when an outbound had no successful
try.

Options:
${optionLines(PROBE.options)}`;

const parseProbe = parserOf(PROBE, (values, tags) => {
  const { all = false, config, socket, json = false, url } = values;
  if (all === tags.length > 0) {
    throw new UsageError(all ? 'a TAG goes without --all' : 'probe needs a TAG, or --all');
  }
  const bytes = values.bytes === undefined ? 0 : parseBytes('--bytes', values.bytes);
  const plan = {
    url: urlOf(url ?? DEFAULT_PROBE_URL),
    tries: parseCount('--tries', values.tries ?? String(DEFAULT_TRIES), MOST_TRIES),
    bytes,
    bytesUrl: urlOf(url ?? `${DEFAULT_BYTES_URL}${bytes}`),
    timeoutMs: parseSeconds('--timeout', values.timeout ?? String(DEFAULT_TRY_SECONDS)),
    totalMs: parseSeconds('--max-time', values['max-time'] ?? String(DEFAULT_TOTAL_SECONDS)),
  };
  return { tags, config, socket, plan, json };
});

/** Parses a URL. @throws {UsageError} which does not quote the text, since it may have a secret */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new UsageError('--url needs a URL of http: or https:');
}

/**
 * `weir probe`. Resolves with the exit status: 1 when an outbound had no successful try.
 * @throws {UsageError}
 */
export const probeCommand = commandOf(
  PROBE.name,
  PROBE_HELP,
  parseProbe,
  async ({ tags, config, socket, plan, json }, io) => {
    const note = (text: string): void => void io.stderr.write(`weir probe: ${printable(text)}\n`);
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
  },
);

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

const HEADS = ['', 'OUTBOUND', 'PROTOCOL', 'DIAL', 'HANDSHAKE', 'FIRST BYTE', 'SECOND', 'TRIES'];

/** Marks the outbound with the fastest second request, among those without a failed try. */
const BEST = '*';

/** The results as text: the table, and below it the causes of failed tries. */
function probeTable(results: readonly ProbedOutbound[]): string {
  const best = bestOf(results);
  const measured = results.some((each) => each.throughput ?? each.throughput_error);
  const rows = results.map((result): readonly Cell[] => {
    const { outbound, protocol, median, tries, succeeded } = result;
    return [
      result === best ? BEST : ' ',
      outbound,
      protocol,
      dialCell(result),
      time(median.handshake_ms),
      time(median.first_byte_ms),
      time(median.second_ms),
      `${succeeded}/${tries.length}`,
      ...(measured ? [rateOf(result)] : []),
    ];
  });
  return textTable(measured ? [...HEADS, 'RATE'] : HEADS, rows) + failures(results);
}

function dialCell({ tries, median }: ProbedOutbound): Cell {
  return tries.some(({ ok, reused }) => ok && reused) ? 'reused' : time(median.dial_ms);
}

const time = (ms: number | null): Cell => (ms === null ? null : milliseconds(ms));

const rateOf = ({ throughput }: ProbedOutbound): Cell =>
  throughput && `${bytes(throughput.bytes_per_second)}/s`;

function bestOf(results: readonly ProbedOutbound[]): ProbedOutbound | undefined {
  let best: ProbedOutbound | undefined;
  for (const result of results) {
    const { second_ms: second } = result.median;
    if (second === null || result.succeeded < result.tries.length) continue;
    if (second < (best?.median.second_ms ?? Infinity)) best = result;
  }
  return best;
}

/** A line for each outbound and cause: `tokyo: dial: connection refused (3 times)`. */
function failures(results: readonly ProbedOutbound[]): string {
  const lines = results.flatMap(({ outbound, tries, throughput_error: slow }) => [
    ...[...countsOf(tries)].map(
      ([cause, count]) => `${outbound}: ${cause}${count > 1 ? ` (${count} times)` : ''}`,
    ),
    ...(slow === null ? [] : [`${outbound}: throughput: ${slow}`]),
  ]);
  return lines.length === 0 ? '' : `\n${lines.map((line) => `${printable(line)}\n`).join('')}`;
}

function countsOf(tries: readonly ProbeTry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { phase, error } of tries) {
    if (phase === null) continue;
    const cause = `${PHASE_NAMES[phase]}: ${error ?? ''}`;
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return counts;
}
