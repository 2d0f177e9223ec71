import { serveThread } from '../../app/loading/serve-thread.ts';
import type { FileRequests } from './file-requests.ts';
import { FileWork } from './file-work.ts';

// Runs in a separate thread: see file-thread.ts.
serveThread<FileRequests>(new FileWork().handlers);
