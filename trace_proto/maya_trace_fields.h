// Field numbers and enumerators of maya_trace.proto for the hand-written encoder of the traced process, which does
// without generated code. test/trace compares every constant with the descriptors that protoc made.
#pragma once

#include <cstdint>

namespace maya::trace::fields {

constexpr uint32_t kFormatVersion = 1;  // ProcessHeader.format written by this version; a reader refuses a newer one
constexpr uint32_t kChunkMagic = 0x4159414d;  // ChunkHeader.magic, "MAYA" in little endian

struct Trace {
  static constexpr uint32_t kPacket = 1;
};
struct Packet {
  static constexpr uint32_t kLaunch = 1, kDeltaNs = 2, kStream = 3, kOperation = 4, kOwnNs = 5, kWaitNs = 6,
                            kPacked = 7, kChunk = 8, kProcess = 9, kEnd = 10, kString = 11, kKernel = 12,
                            kConfiguration = 13, kOperationDescriptor = 14, kDevice = 15, kStreamDescriptor = 16,
                            kCopy = 17, kFill = 18, kAllocation = 19, kFree = 20, kAllocationFailure = 21, kEvent = 22,
                            kSynchronization = 23, kHostFunction = 24, kRange = 25, kCommunicator = 26, kNotice = 27,
                            kMapping = 28, kModule = 29, kGraphLaunch = 30, kPadding = 31, kMeasuredNs = 32,
                            kCallNs = 33, kStartNs = 34, kGroup = 35, kDelayNs = 36;
};
struct ChunkHeader {
  static constexpr uint32_t kMagic = 1, kThread = 2, kSequence = 3, kTimeNs = 4, kThreadSequence = 5, kOsThreadId = 6,
                            kChunkBytes = 7;
};
struct ProcessHeader {
  static constexpr uint32_t kFormat = 1, kMayaVersion = 2, kProgram = 3, kArguments = 4, kPid = 5, kRunId = 6,
                            kRank = 7, kWorldSize = 8, kDeviceName = 9, kDeviceProfile = 10, kDeviceCount = 11,
                            kStartTimeNs = 12, kStartUnixNs = 13, kHostCpu = 14, kCluster = 15, kMemoryLimitBytes = 16,
                            kCpuScale = 17, kQueuedGapNs = 18, kQueuedCopyGapNs = 19, kLocalRank = 20,
                            kGpusPerNode = 21, kTwins = 22, kClusterProfile = 23;
};
struct ProcessEnd {
  static constexpr uint32_t kPacketsLost = 1, kReason = 2, kHostBytesDropped = 3, kUnsupported = 4, kOwnNsTotal = 5;
};
struct CallCount {
  static constexpr uint32_t kName = 1, kCount = 2;
};
struct InternedString {
  static constexpr uint32_t kId = 1, kText = 2;
};
struct KernelDescriptor {
  static constexpr uint32_t kId = 1, kName = 2, kRegisters = 3, kStaticSharedBytes = 4, kMaxThreads = 5,
                            kArchitecture = 6, kParameterOffsets = 7, kParameterSizes = 8;
};
struct KernelWork {
  static constexpr uint32_t kReadBytes = 1, kWrittenBytes = 2, kRequestedBytes = 3, kInstructions = 4, kFunctions = 5,
                            kHalfFlops = 6, kTf32Flops = 7, kEightBitFlops = 8, kFourBitFlops = 9, kDoubleFlops = 10,
                            kUncertainty = 11;
};
struct LaunchConfiguration {
  static constexpr uint32_t kId = 1, kKernel = 2, kGridX = 3, kGridY = 4, kGridZ = 5, kBlockX = 6, kBlockY = 7,
                            kBlockZ = 8, kDynamicSharedBytes = 9, kClusterX = 10, kClusterY = 11, kClusterZ = 12,
                            kCooperative = 13, kScalarSlots = 14, kScalarValues = 15, kEstimateNs = 16, kOperation = 17,
                            kWork = 18;
};
struct OperationDescriptor {
  static constexpr uint32_t kId = 1, kFamily = 2, kApi = 3, kKeys = 4, kValues = 5, kEstimateNs = 6;
};
struct DeviceDescriptor {
  static constexpr uint32_t kOrdinal = 1, kName = 2, kCapacityBytes = 3;
};
struct StreamDescriptor {
  static constexpr uint32_t kId = 1, kDevice = 2, kFlags = 3, kPriority = 4, kDestroyed = 5;
};
struct Copy {
  static constexpr uint32_t kKind = 1, kBytes = 2, kAsynchronous = 3, kPageable = 4, kRows = 5, kPeerDevice = 6;
};
struct Fill {
  static constexpr uint32_t kBytes = 1, kValue = 2, kWidth = 3, kAsynchronous = 4, kRows = 5;
};
struct Allocation {
  static constexpr uint32_t kKind = 1, kAddress = 2, kBytes = 3, kChargedBytes = 4, kLayer = 5, kDevice = 6;
};
struct Free {
  static constexpr uint32_t kKind = 1, kAddress = 2, kChargedBytes = 3, kDevice = 4, kLayer = 5, kBytes = 6;
};
struct Mapping {
  static constexpr uint32_t kAddress = 1, kBytes = 2, kHandle = 3, kUnmap = 4;
};
struct AllocationFailure {
  static constexpr uint32_t kCall = 1, kRequestedBytes = 2, kFreeBytes = 3, kCapacityBytes = 4, kDevice = 5,
                            kLayerBytes = 6, kLargestHolderBytes = 7;
};
struct EventCall {
  static constexpr uint32_t kCall = 1, kEvent = 2, kReady = 3, kEndEvent = 4;
};
struct Synchronization {
  static constexpr uint32_t kScope = 1, kReady = 2, kDevice = 3;
};
struct HostFunction {
  static constexpr uint32_t kMeasuredNs = 1;
};
struct RangeMark {
  static constexpr uint32_t kCall = 1, kText = 2, kId = 3, kDomain = 4;
};
struct Communicator {
  static constexpr uint32_t kId = 1, kUnique = 2, kRank = 3, kRanks = 4, kDevice = 5, kChargedBytes = 6, kDestroyed = 7,
                            kParent = 8, kName = 9, kWorldRanks = 10, kTwins = 11;
};
struct Notice {
  static constexpr uint32_t kSeverity = 1, kText = 2;
};
struct ModuleLoad {
  static constexpr uint32_t kDevice = 1, kImageBytes = 2, kChargedBytes = 3, kUnload = 4;
};
struct GraphLaunch {
  static constexpr uint32_t kGraph = 1, kNodes = 2, kNodesFollow = 3;
};

// Enumerators.
struct CopyKind {
  static constexpr uint32_t kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kPeer = 4;
};
struct Layer {
  static constexpr uint32_t kAllocations = 0, kDriver = 1, kContext = 2, kModules = 3, kWorkspaces = 4,
                            kCommunication = 5;
};
struct AllocationKind {
  static constexpr uint32_t kDevice = 0, kHost = 1, kManaged = 2, kRegistered = 3, kPhysical = 4,
                            kReservedAddresses = 5, kStreamOrdered = 6, kPoolGrowth = 7;
};
struct EventCallCall {
  static constexpr uint32_t kCreate = 0, kRecord = 1, kWait = 2, kSynchronize = 3, kQuery = 4, kElapsed = 5,
                            kDestroy = 6;
};
struct SynchronizationScope {
  static constexpr uint32_t kDevice = 0, kStream = 1, kStreamQuery = 2;
};
struct RangeMarkCall {
  static constexpr uint32_t kPush = 0, kPop = 1, kStart = 2, kEnd = 3, kMark = 4;
};
struct NoticeSeverity {
  static constexpr uint32_t kInfo = 0, kWarning = 1, kError = 2;
};

}  // namespace maya::trace::fields
