import { printable, printableLines } from '@weir/base/printable';
import { balancerLine, differenceLine } from '@weir/nodes/subscribe/nodes/difference';
import { ActionError } from '../action-error.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { UpdateOutcome } from '../reader/file-requests.ts';
import { Parameters } from '../parameters.ts';
import { commandLine } from '../shared/texts.ts';
import type { JsonValue } from '../shared/protocol.ts';
import type { SubscriptionsTopic } from './subscriptions-topic.ts';
import type { ListedNames, SourceReport, UpdateReport } from './view.ts';

/** Maximum number of names of a list that a page receives. */
const MOST_NAMES = 200;
/** Maximum number of skipped entries and provider messages. */
const MOST_REMARKS = 50;

type ActionContext = Pick<DashboardContext, 'monitor' | 'socket' | 'env'>;

/**
 * The actions `subscription-compare`, which fetches and changes nothing, and `subscription-update`, which applies the
 * fetched sources and reloads Weir.
 */
export const subscriptionActions = (
  context: ActionContext,
  file: FileModel,
  topic: SubscriptionsTopic,
): readonly PageAction[] => {
  const run = async (value: JsonValue, dryRun: boolean, signal: AbortSignal) => {
    const parameters = new Parameters(value);
    const name = parameters.text('name', '');
    const force = parameters.flag('force');
    const { path } = file.ofFile;
    if (path === null) {
      throw new ActionError('no-file', 'the built-in configuration has no subscriptions');
    }
    if (topic.view().busy !== null) {
      throw new ActionError('busy', 'an update is under way', { hint: 'wait for its end' });
    }
    topic.busy = dryRun ? 'compare' : 'update';
    try {
      const { socket, env } = context;
      const names = name === '' ? [] : [name];
      const wanted = { path, names, dryRun, force, socket, env };
      const done = await file.worker.ask('update', wanted, signal);
      return {
        sources: done.outcomes.map(reportOf),
        applied: printableLines(done.applied.trimEnd()),
        fetchedAgain: done.fetchedAgain,
        command: commandLine([
          'weir',
          'subscribe',
          'update',
          ...names,
          ...(force ? ['--force'] : []),
          '--config',
          path,
        ]),
      } satisfies UpdateReport;
    } finally {
      topic.busy = null;
      await Promise.all([topic.read(), dryRun ? undefined : refreshed(context, file)]);
    }
  };
  return [
    {
      name: 'subscription-compare',
      changes: false,
      run: (value, signal) => run(value, true, signal),
    },
    {
      name: 'subscription-update',
      changes: true,
      run: (value, signal) => run(value, false, signal),
    },
  ];
};

async function refreshed({ monitor }: ActionContext, file: FileModel): Promise<void> {
  await monitor.refresh();
  await file.look();
}

function reportOf({ source, kind, difference, ...rest }: UpdateOutcome): SourceReport {
  const { added, removed, changed, kept } = difference;
  const { balancers, notes, information, leftOut, error } = rest;
  return {
    id: source,
    kind,
    line: differenceLine(difference),
    added: namesOf(added),
    removed: namesOf(removed),
    changed: namesOf(changed),
    kept: namesOf(kept),
    balancers: balancers.slice(0, MOST_REMARKS).map(balancerLine),
    notes: notes.slice(0, MOST_REMARKS).map(printable),
    information: information.slice(0, MOST_REMARKS),
    leftOut: leftOut
      .slice(0, MOST_REMARKS)
      .map(({ name, reason }) => ({ name, reason: printable(reason) })),
    error: error && {
      message: printableLines(error.message),
      hints: error.hints.map(printable),
    },
  };
}

const namesOf = (names: readonly string[]): ListedNames => ({
  names: names.slice(0, MOST_NAMES),
  more: Math.max(0, names.length - MOST_NAMES),
});
