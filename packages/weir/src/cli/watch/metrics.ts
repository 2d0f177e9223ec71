import { readSecret } from '@weir/client/api';
import { findRunning, type RunningWeir } from '@weir/client/running';
import { parseLocalListen, defectText } from '@weir/server/local-http';
import {
  collect,
  expositionText,
  type MetricSnapshot,
  type MetricSources,
  SnapshotTaker,
  STANDARD_LISTEN,
  startMetricsServer,
} from '@weir/watch/metrics';
import { hintsOf, WeirError } from '@weir/base';
import { printableLines } from '@weir/base/printable';
import { commandOf, type CommandIo, optionLines, parserOf, untilStopped } from '../command.ts';
import { listenOf, searchOf } from '../running-options.ts';
import { METRICS } from './specs.ts';

const METRICS_HELP = `weir metrics, which serves metrics of a running Weir to Prometheus

Usage: weir metrics [options]

GET /metrics has them, in the text format of Prometheus or in OpenMetrics. Each scrape asks Weir
once, on its control socket or else on its API; between scrapes it is not asked.

Options:
${optionLines(METRICS.options)}`;

type MetricsArguments = NonNullable<ReturnType<typeof parseMetrics>>;

const parseMetrics = parserOf(METRICS, (values) => values);

/**
 * `weir metrics`: serves until a signal stops it. Resolves with the exit status.
 * @throws {UsageError}
 */
export const metricsCommand = commandOf(
  METRICS.name,
  METRICS_HELP,
  parseMetrics,
  async (values, io) => {
    const running = await findRunning({ ...searchOf(values), env: io.env });
    const sources = (): MetricSources => sourcesOf(running, values, io.env);
    const taker = new SnapshotTaker(sources(), async () => {
      // There may be several by then, one of which is the Weir that was found at first.
      await running.findAgain().catch(() => undefined);
      return sources();
    });
    if (values.once === true) {
      const snapshot = await taker.take();
      noteProblem(snapshot, io);
      io.stdout.write(expositionText(collect(snapshot), 'prometheus'));
      return snapshot.status === undefined && snapshot.traffic === undefined ? 1 : 0;
    }
    const tokenFile = values['token-file'];
    await using server = await startMetricsServer({
      listen: await parseLocalListen(listenOf(values), STANDARD_LISTEN),
      taker,
      token: tokenFile === undefined ? undefined : await readSecret(tokenFile, '--token-file'),
      onDefect: (error) => void io.stderr.write(`${defectText(error)}\n`),
    });
    io.stdout.write(`metrics on ${server.url ?? server.address}${server.url ? '/metrics' : ''}\n`);
    await Promise.all([untilStopped(), taker.take().then((snapshot) => noteProblem(snapshot, io))]);
    return 0;
  },
);

/** Reports on standard error why there are few metrics, or none. */
function noteProblem({ status, traffic, problem }: MetricSnapshot, io: CommandIo): void {
  if (status !== undefined) return;
  const reason = problem?.message ?? 'no control socket was found; --socket PATH names it';
  const left = traffic === undefined ? 'no Weir responds' : 'traffic and flows alone';
  const hints =
    problem instanceof WeirError ? hintsOf(problem).map((hint) => `\nhint: ${hint}`) : [];
  io.stderr.write(`${printableLines(`weir metrics: ${left}: ${reason}${hints.join('')}`)}\n`);
}

const sourcesOf = (
  { socket, api }: RunningWeir,
  values: MetricsArguments,
  env: CommandIo['env'],
): MetricSources => ({
  socket,
  api,
  isApiNamed: (values.api ?? env['WEIR_API'] ?? '') !== '',
  users: values.users === true,
});
