import { RunningOutbounds } from '@weir/nodes/fetch';
import { ActionError } from './parameters.ts';
import { createConfigSource } from './config/source.ts';
import type { CreatePageSource, DashboardContext, PageSource } from './contract.ts';
import { lostBalancersTopic, NodesTopic } from './nodes/nodes-topic.ts';
import { NodeProbes } from './nodes/node-probes.ts';
import { probeActions } from './nodes/probe-actions.ts';
import { subscriptionActions, SubscriptionsTopic } from './nodes/subscriptions.ts';
import { FileModel } from './reader/file-model.ts';
import type { FileWorker } from './reader/file-requests.ts';
import { FileThread } from './reader/file-thread.ts';
import { routeTargetsTopic } from './routes/routes-topic.ts';
import { explainAction } from './rules/explain-action.ts';
import { RulesTopic } from './rules/rules-topic.ts';

/**
 * The pages that read configuration files: Config and Routes, Nodes and Rules. One thread reads for all of them, so
 * that a large file neither blocks pages that are being watched nor is held in memory twice.
 *
 * Changes of the files are noticed twice: WatchedConfig keeps the bytes of the version that runs, to restore them, also
 * while no page is open; FileModel keeps the results of the thread, and only while Nodes or Rules are watched.
 */
export const createFilePages: CreatePageSource = (context) => {
  const files = new FileThread();
  const sources = [createConfigSource(context, files), createReaderPages(context, files)];
  return {
    topics: sources.flatMap(({ topics }) => topics),
    actions: sources.flatMap(({ actions }) => actions),
  };
};

/** The pages Nodes and Rules, which share one `FileModel`. */
export const createReaderPages = (context: DashboardContext, worker: FileWorker): PageSource => {
  const file = new FileModel(context, worker);
  const probes = new NodeProbes(() => {
    if (context.socket !== undefined) return new RunningOutbounds(context.socket);
    throw new ActionError('no-socket', 'a probe goes through the control socket of Weir');
  }, context.now);
  const nodes = new NodesTopic(context, file, probes);
  const rules = new RulesTopic(context, file);
  const subscriptions = new SubscriptionsTopic(file);
  return {
    topics: [
      nodes,
      rules,
      subscriptions,
      routeTargetsTopic(context, file, probes),
      lostBalancersTopic(file),
    ],
    actions: [
      ...probeActions(context, file, nodes, probes),
      ...subscriptionActions(context, file, subscriptions),
      explainAction(context, file),
    ],
  };
};
