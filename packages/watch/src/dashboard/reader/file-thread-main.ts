import { serveThread } from '@weir/server/app/loading/typed-worker';
import type { FileRequests } from './file-requests.ts';
import { FileWork } from './file-work.ts';

// Runs in a separate thread: see file-thread.ts.
serveThread<FileRequests>(new FileWork().handlers);
