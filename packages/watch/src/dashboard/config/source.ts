import type { DashboardContext, PageSource } from '../contract.ts';
import type { FileWorker } from '../reader/file-requests.ts';
import { PickActions } from '../routes/pick-actions.ts';
import { PickState } from '../routes/pick-state.ts';
import { routesTopic } from '../routes/routes-topic.ts';
import { ConfigActions } from './config-actions.ts';
import { ConfigState } from './config-state.ts';
import { ConfigTopics } from './config-topics.ts';

/** The pages Config and Routes, which share one `ConfigState`. */
export const createConfigSource = (context: DashboardContext, files: FileWorker): PageSource => {
  const state = new ConfigState(context, files);
  const picks = new PickState(context, state);
  return {
    topics: [...new ConfigTopics(context, state).topics, routesTopic(context, state, picks)],
    actions: [
      ...new ConfigActions(state).actions,
      ...new PickActions(context, state, picks).actions,
    ],
  };
};
