import { readFileSync } from 'node:fs';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { types } from 'node:util';
import type { Problem } from '../admin/problem';
import type { AdminConfig } from '../config/types';
import { DsbcError } from '../errors';

const TIMEOUT_MS = 15_000;

const NO_TOKEN =
  'it wants a token, and none was given: name a file that has it with --token-file, or set DSBC_ADMIN_TOKEN (with --url or DSBC_ADMIN_URL), or admin.token in the configuration';
const WRONG_TOKEN =
  'it does not accept the token (admin.token). One that was changed in the file is taken with a reload: send it a SIGHUP, or give the old one with --token-file';

/** The instance refused an order; the message says why. */
export class Refused extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'Refused';
    this.problem = problem;
  }
}

/** Where an admin API is, and what unlocks it; the section `admin` of a configuration fits. */
export type AdminAccess = Pick<AdminConfig, 'address' | 'port' | 'token' | 'cert_file'> & {
  /** HTTPS with a certificate of a known CA; by `cert_file` it is HTTPS anyway. */
  readonly https?: boolean;
};

/** Talks to the running instance over its admin API. */
export class AdminClient {
  readonly #access: AdminAccess;

  constructor(access: AdminAccess) {
    this.#access = access;
  }

  get<T>(path: string): Promise<T> {
    return this.#ask<T>('GET', path);
  }

  put<T>(path: string, body: object): Promise<T> {
    return this.#ask<T>('PUT', path, body);
  }

  post<T>(path: string, body: object = {}): Promise<T> {
    return this.#ask<T>('POST', path, body);
  }

  /** What the API answers is trusted to be of its documented form: both ends are of this package. */
  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.#exchange(method, path, body);
    if (status === 401)
      throw unreachable(this.#access, this.#access.token === undefined ? NO_TOKEN : WRONG_TOKEN);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw unreachable(this.#access, 'what answers there is no dsbc', cause);
    }
    if (status >= 400) throw new Refused(value as Problem);
    return value as T;
  }

  #exchange(
    method: string,
    path: string,
    body: object | undefined,
  ): Promise<{ status: number; text: string }> {
    const { address, port, token, cert_file: certificate, https } = this.#access;
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const options = {
      method,
      path,
      port,
      // "All addresses" is no address to connect to.
      host: address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address,
      timeout: TIMEOUT_MS,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      },
    };
    return new Promise((resolve, reject) => {
      const onAnswer = (answer: IncomingMessage): void => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      };
      // The certificate itself is what is trusted: the file is at hand, the name in it may be any.
      const request =
        certificate === undefined
          ? (https === true ? requestHttps : requestHttp)(options, onAnswer)
          : requestHttps(
              { ...options, ca: readFileSync(certificate), checkServerIdentity: () => undefined },
              onAnswer,
            );
      request.on('timeout', () => request.destroy(new Error('no answer in time')));
      request.on('error', (error) => reject(unreachable(this.#access, error.message, error)));
      request.end(payload);
    });
  }
}

function unreachable({ address, port }: AdminAccess, why: string, cause?: unknown): DsbcError {
  return new DsbcError(
    'DSBC_ADMIN_UNREACHABLE',
    `the running instance cannot be reached at ${address} port ${port}: ${why}`,
    { ...(types.isNativeError(cause) ? { cause } : {}), details: { address, port } },
  );
}
