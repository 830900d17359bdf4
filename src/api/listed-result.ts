// A result as lists have it: without the request, which may be large.
import { Type } from "typebox";
import { ResultSchema } from "../model/result.ts";
import type { Result } from "../model/result.ts";

export const ListedResultSchema = Type.Omit(ResultSchema, ["request"]);

export const withoutRequest = ({ request: _request, ...rest }: Result): Omit<Result, "request"> =>
  rest;
