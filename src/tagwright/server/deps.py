"""What the routes of the interfaces need of a request: the tagger that it is for, the rights of its token, its kind."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import JSON, check_kind, parse_json
from tagwright.server.served_model import ServedModel, model_named
from tagwright.server.turns import in_thread


class JsonRequest(Request):
    """A request whose JSON is parsed in a thread, within the limits of `parse_json`."""

    async def json(self) -> Any:
        """Return the content. Raises Problem."""
        return await in_thread(parse_json, await self.body())


class JsonRoute(APIRoute):
    """A route whose body is read by `JsonRequest`; the description says the first line of its docstring."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        summary = (endpoint.__doc__ or "").partition("\n")[0]
        super().__init__(path, endpoint, **{**options, "summary": summary})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def answer_json(request: Request) -> Response:
            return await answer(JsonRequest(request.scope, request.receive))

        return answer_json


async def check_json(request: Request) -> None:
    """Raise Problem for an empty body, and for one of another kind than JSON, which one without a kind is taken for."""
    if not await request.body():
        raise bad_request("RequestBody is required")
    check_kind(request, JSON, "")


async def served_models(request: Request) -> Mapping[str, ServedModel]:
    """The served models by their ids."""
    models: Mapping[str, ServedModel] = request.app.state.models
    return models


ServedModels = Annotated[Mapping[str, ServedModel], Depends(served_models)]


async def project(project_id: str, models: ServedModels) -> ServedModel:
    """The model that is Annif's project of this id. Raises Problem (404)."""
    if project_id not in models:
        raise Problem(404, f"Project '{project_id}' not found", "Project not found")
    return models[project_id].for_request()


Project = Annotated[ServedModel, Depends(project)]


async def named_model(models: ServedModels, model: str | None = None) -> ServedModel:
    """The model of this id, or the first one. Raises Problem (404)."""
    return model_named(model, models)


NamedModel = Annotated[ServedModel, Depends(named_model)]
