import { createConnectionsSource } from './connections/source.ts';
import type { CreatePageSource } from './contract.ts';
import { createFilePages } from './create-file-pages.ts';
import { createFrameSource } from './frame/frame-topic.ts';
import { createNowSource } from './now/source.ts';
import { createUsageSource } from './usage/usage-topic.ts';

/** All parts of the dashboard. The names of topics and actions are unique among them. */
export const SOURCES: readonly CreatePageSource[] = [
  createConnectionsSource,
  createFilePages,
  createFrameSource,
  createNowSource,
  createUsageSource,
];
