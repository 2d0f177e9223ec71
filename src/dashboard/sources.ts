import { createConnectionsSource } from './connections/source.ts';
import type { CreatePageSource } from './contract.ts';
import { createFilePages } from './create-file-pages.ts';
import { createFrameSource } from './frame/frame-topic.ts';
import { createNowSource } from './now/source.ts';

/** The parts of the dashboard, whose topics and actions have names of their own. */
export const SOURCES: readonly CreatePageSource[] = [
  createConnectionsSource,
  createFilePages,
  createFrameSource,
  createNowSource,
];
