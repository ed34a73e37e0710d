"""The server over real gRPC: health, reflection, typed errors, a taken port, drain."""

import asyncio
import socket

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from marin.common.v1 import job_service_pb2 as pb, job_service_pb2_grpc as rpc
from marin_chassis import client
from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EngineError
from marin_chassis.server import serve

NAME = "marin.common.v1.JobService"


class Jobs(rpc.JobServiceServicer):
    async def GetJob(self, request, context):
        if request.id == "bug":
            raise ZeroDivisionError("oops")
        if request.id == "typed":
            raise EngineError("no job", hint="list them", reason="UNKNOWN_JOB", code="NOT_FOUND", id="typed")
        return pb.GetJobResponse(job={"id": request.id})

    async def WatchJob(self, request, context):
        yield pb.WatchJobResponse(job={"id": "first"})
        raise EngineError("gone", hint="again", reason="GONE", code="ABORTED")


@pytest.fixture
async def endpoint(tmp_path):
    ready = tmp_path / "ready"
    config = ServiceConfig(ready_file=str(ready), drain_seconds=0.1)
    stop = []

    def add(server, context):
        rpc.add_JobServiceServicer_to_server(Jobs(), server)
        stop.append(context.stopping)

    task = asyncio.create_task(serve("toy", config, (NAME,), add))
    while not ready.exists() or not ready.read_text():
        await asyncio.sleep(0.01)
    yield f"127.0.0.1:{ready.read_text()}"
    stop[0].set()
    await asyncio.wait_for(task, 10)


async def test_a_typed_error_arrives_whole(endpoint):
    async with client.channel(endpoint) as channel:
        stub = rpc.JobServiceStub(channel)
        with pytest.raises(EngineError, match="no job") as e:
            await client.call(stub.GetJob, pb.GetJobRequest(id="typed"), peer="toy")
    assert (e.value.code, e.value.reason, e.value.hint) == ("NOT_FOUND", "UNKNOWN_JOB", "list them")
    assert e.value.metadata["id"] == "typed"


async def test_a_bug_is_internal_and_the_server_goes_on(endpoint):
    async with client.channel(endpoint) as channel:
        stub = rpc.JobServiceStub(channel)
        with pytest.raises(EngineError, match="ZeroDivisionError") as e:
            await client.call(stub.GetJob, pb.GetJobRequest(id="bug"), peer="toy")
        assert e.value.code == "INTERNAL"
        assert (await stub.GetJob(pb.GetJobRequest(id="7"))).job.id == "7"


async def test_a_stream_can_fail_after_its_first_message(endpoint):
    async with client.channel(endpoint) as channel:
        stream = rpc.JobServiceStub(channel).WatchJob(pb.WatchJobRequest())
        assert (await stream.read()).job.id == "first"
        with pytest.raises(grpc.RpcError) as e:
            await stream.read()
        assert e.value.code() == grpc.StatusCode.ABORTED


async def test_health_and_reflection(endpoint):
    async with client.channel(endpoint) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", NAME):
            reply = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        async for reply in reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([ask])):
            names = {s.name for s in reply.list_services_response.service}
        assert {NAME, "grpc.health.v1.Health"} <= names


async def test_a_taken_port_says_so():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with pytest.raises(EngineError, match=str(port)) as e:
            await serve("toy", ServiceConfig(port=port), (NAME,), lambda server, context: None)
    assert e.value.reason == "PORT_IN_USE" and "MARIN_TOY_PORT" in e.value.hint


async def test_a_peer_that_comes_up_late_is_waited_for(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    async with client.channel(f"127.0.0.1:{port}") as channel:
        stub = rpc.JobServiceStub(channel)
        late = asyncio.create_task(client.call(stub.GetJob, pb.GetJobRequest(id="x"), peer="toy", patience=20))
        await asyncio.sleep(0.3)
        contexts = []

        def add(server, context):
            rpc.add_JobServiceServicer_to_server(Jobs(), server)
            contexts.append(context)

        server = asyncio.create_task(serve("toy", ServiceConfig(port=port, drain_seconds=0.1), (NAME,), add))
        assert (await asyncio.wait_for(late, 20)).job.id == "x"
        contexts[0].stopping.set()
        await server


async def test_a_peer_that_stays_away_is_named():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    async with client.channel(f"127.0.0.1:{port}") as channel:
        with pytest.raises(EngineError, match="the toy service") as e:
            await client.call(
                rpc.JobServiceStub(channel).GetJob, pb.GetJobRequest(), peer="the toy service", patience=0.2
            )
    assert e.value.code == "UNAVAILABLE" and e.value.retryable
