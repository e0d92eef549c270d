import { parentPort, workerData } from "node:worker_threads";
import { readHtml } from "./read-html.ts";
import type { ReaderJob } from "./reader-job.ts";
import { readResults } from "./search/read-results.ts";

const job = workerData as ReaderJob;
parentPort?.postMessage(
  job.kind === "page" ? readHtml(job.html, job.url, job.mayBeArticle) : readResults(job.provider, job.html, job.url),
);
