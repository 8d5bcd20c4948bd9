from ael.embed.approver import Approve as Approve
from ael.embed.error import BindError as BindError
from ael.embed.error import Error as Error
from ael.embed.error import LoadError as LoadError
from ael.embed.error import OpenError as OpenError
from ael.embed.error import OutcomeError as OutcomeError
from ael.embed.error import RequestError as RequestError
from ael.embed.error import ResultError as ResultError
from ael.embed.failure import Failure as Failure
from ael.embed.nodes import NodeCall as NodeCall
from ael.embed.nodes import Nodes as Nodes
from ael.embed.options import Asked as Asked
from ael.embed.options import Budget as Budget
from ael.embed.outcome import DeclaredError as DeclaredError
from ael.embed.outcome import Faulted as Faulted
from ael.embed.outcome import Outcome as Outcome
from ael.embed.outcome import Suspended as Suspended
from ael.embed.outcome import Uncertain as Uncertain
from ael.embed.outcome import Value as Value
from ael.embed.program import Program as Program
from ael.embed.program import load as load
from ael.embed.run import Run as Run
from ael.embed.session import Session as Session
from ael.embed.sync import SyncRun as SyncRun
from ael.embed.sync import SyncSession as SyncSession
from ael.run import events as events
from ael.run.outcome import Spent as Spent
from ael.run.ports import ApprovalRequest as ApprovalRequest
from ael.run.ports import CallContext as CallContext
from ael.run.ports import Decision as Decision
from ael.types.fault import FaultKind as FaultKind
from ael.types.value import File as File

__version__: str
__all__: list[str]
