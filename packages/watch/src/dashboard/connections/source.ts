import type { CreatePageSource } from '../contract.ts';
import { createCloseActions } from './close-flows.ts';
import { createConnectionsTopic } from './connections-topic.ts';
import { createDetailsTopic } from './details-topic.ts';

/** The page Connections: its topics and actions. */
export const createConnectionsSource: CreatePageSource = (context) => ({
  topics: [createConnectionsTopic(context), createDetailsTopic(context)],
  actions: createCloseActions(context),
});
