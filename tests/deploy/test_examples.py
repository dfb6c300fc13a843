"""The unit for systemd and the example for Kubernetes: what they name is there, and they give a service little."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dragoman.cli.main import main
from dragoman.serve.watch.metrics import Metrics, as_text

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "dragoman.service"


def documents(name: str) -> dict[str, dict]:
    """The objects of a file by their kind."""
    found = [one for one in yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")) if one]
    assert all(one["apiVersion"] and one["metadata"]["name"].startswith("dragoman") for one in found)
    return {one["kind"]: one for one in found}


def options(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every option is one of its verb."""
    assert main([*(one for one in command if one in ("serve", "keys", "create")), "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {one.partition("=")[0] for one in command if one.startswith("--")} <= known


def test_the_unit_is_valid_and_gives_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = UNIT.read_text(encoding="utf-8")
    [command] = re.findall(r"^ExecStart=(\S+/dragoman) (.*)$", text, re.M)
    options(command[1].split(), capsys)
    for line in ("ProtectSystem=strict", "NoNewPrivileges=yes", "StateDirectory=dragoman", "IPAddressDeny=any"):
        assert line in text.splitlines()
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze on this machine")
    unit = tmp_path / "dragoman.service"
    unit.write_text(text.replace(command[0], sys.executable), encoding="utf-8")
    for more in (["verify"], ["security", "--offline=true", "--threshold=20"]):  # 2.0 of 10
        done = subprocess.run(["systemd-analyze", *more, str(unit)], capture_output=True, text=True, check=False)
        if "Failed to initialize manager" in done.stderr:
            pytest.skip(f"systemd-analyze cannot run here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stdout[-500:] + done.stderr
        assert "Unknown" not in done.stderr


def test_the_pods_of_kubernetes_are_limited_probed_and_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = documents("kubernetes.yaml")
    assert set(found) == {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}
    pod = found["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    options(container["args"], capsys)
    probes = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert probes == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
    [port] = container["ports"]
    assert {container[f"{name}Probe"]["httpGet"]["port"] for name in probes} == {port["name"]}
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert pod["spec"]["terminationGracePeriodSeconds"] > 65 + 5  # what `serve` waits for, and the pause before
    labels = pod["metadata"]["labels"]
    for selector in (
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert selector == labels


def test_the_job_creates_a_key_in_the_database_of_the_pods(capsys: pytest.CaptureFixture[str]) -> None:
    pod = documents("key.yaml")["Job"]["spec"]["template"]
    served = documents("kubernetes.yaml")["Deployment"]["spec"]["template"]
    [container], [serving] = pod["spec"]["containers"], served["spec"]["containers"]
    assert container["args"][:2] == ["keys", "create"]
    options(container["args"], capsys)
    assert container["image"] == serving["image"]
    assert container["env"] == serving["env"][:1]
    assert pod["metadata"]["labels"] != served["metadata"]["labels"]  # the Service is not to find it


def test_nothing_leaves_the_pods_but_to_the_database_and_the_name_server() -> None:
    policy = documents("kubernetes.yaml")["NetworkPolicy"]["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert [[port["port"] for port in one["ports"]] for one in policy["egress"]] == [[5432], [53, 53]]
    assert all(one["to"] for one in policy["egress"])


def test_scaling_asks_for_metrics_that_there_are() -> None:
    [scaled] = documents("scaling.yaml").values()
    assert scaled["spec"]["scaleTargetRef"]["name"] == "dragoman"
    exported = as_text(Metrics().collect()).decode()
    queries = [one["metadata"]["query"] for one in scaled["spec"]["triggers"]]
    names = {name for query in queries for name in re.findall(r"dragoman_\w+", query)}
    assert {"dragoman_queue_seconds_bucket", "dragoman_queue_tokens"} <= names
    for name in names:
        assert re.search(rf"^{name}[ {{]", exported, re.M), name
