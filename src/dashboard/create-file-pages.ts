import { createConfigSource } from './config/source.ts';
import type { CreatePageSource } from './contract.ts';
import { createReaderPages } from './reader/create-reader-pages.ts';
import { FileThread } from './reader/file-thread.ts';

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
